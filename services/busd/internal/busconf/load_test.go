package busconf_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quartet/services/busd/internal/busconf"
)

func TestLastTypeUserPidfileAndHelperWin(t *testing.T) {
	c := config(t, `<type>session</type><type>system</type><user>a</user><user>b</user>
		<pidfile>/1</pidfile><pidfile>/2</pidfile><servicehelper>/bin/a</servicehelper><servicehelper>/bin/b</servicehelper>`)
	got := []string{c.Type, c.User, c.PIDFile, c.ServiceHelper}
	if want := []string{"system", "b", "/2", "/bin/b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestListenAndAuthAddUp(t *testing.T) {
	c := config(t, `<listen>tcp:host=localhost</listen><auth>EXTERNAL</auth><auth>ANONYMOUS</auth>`)
	if want := []string{"unix:path=/x", "tcp:host=localhost"}; !slices.Equal(c.Listen, want) {
		t.Errorf("listen %q, want %q", c.Listen, want)
	}
	if want := []string{"EXTERNAL", "ANONYMOUS"}; !slices.Equal(c.Auth, want) {
		t.Errorf("auth %q, want %q", c.Auth, want)
	}
}

func TestPresenceSetsAFlag(t *testing.T) {
	c := config(t, "")
	if c.Fork || c.KeepUmask || c.Syslog || c.AllowAnonymous {
		t.Errorf("a flag is set without its element: %+v", c)
	}
	c = config(t, `<fork/><keep_umask></keep_umask><syslog/><allow_anonymous/>`)
	if !c.Fork || !c.KeepUmask || !c.Syslog || !c.AllowAnonymous {
		t.Errorf("a flag is not set by its element: %+v", c)
	}
}

func TestSpaceAroundContentIsDropped(t *testing.T) {
	c := config(t, "<user>\n  messagebus <!-- not root -->\n</user>")
	if c.User != "messagebus" {
		t.Errorf("user %q", c.User)
	}
}

func TestEntitiesAreText(t *testing.T) {
	c := config(t, `<servicedir>/usr/&amp;share&#47;foo</servicedir>`)
	if c.ServiceDirs[0].Path != "/usr/&share/foo" {
		t.Errorf("servicedir %q", c.ServiceDirs[0].Path)
	}
}

func TestLatin1FileIsRead(t *testing.T) {
	c := load(t, files{"/etc/bus.conf": `<?xml version="1.0" encoding="ISO-8859-1"?>` + body("<user>caf\xe9</user>")})
	if c.User != "café" {
		t.Errorf("user %q", c.User)
	}
}

func TestRelativePathsAreRelativeToTheFile(t *testing.T) {
	c := load(t, files{
		"/etc/bus.conf":   body(`<include>sub/a.conf</include>`),
		"/etc/sub/a.conf": `<busconfig><servicedir>here</servicedir><servicehelper>../helper</servicehelper><include>b.conf</include></busconfig>`,
		"/etc/sub/b.conf": `<busconfig><type>b</type></busconfig>`,
	})
	if c.ServiceDirs[0].Path != "/etc/sub/here" || c.ServiceHelper != "/etc/helper" || c.Type != "b" {
		t.Errorf("got %+v", c)
	}
}

func TestIncludedFileTakesEffectWhereItStands(t *testing.T) {
	c := load(t, files{
		"/etc/bus.conf": body(`<type>1</type><limit name="max_names_per_connection">1</limit><include>a.conf</include><user>after</user>`),
		"/etc/a.conf":   `<busconfig><type>2</type><user>a</user><limit name="auth_timeout">7</limit><fork/></busconfig>`,
	})
	if c.Type != "2" || c.User != "after" || !c.Fork {
		t.Errorf("got %+v", c)
	}
	if c.Limits.MaxNamesPerConnection != 1 || c.Limits.AuthTimeout.Milliseconds() != 7 {
		t.Errorf("limits %+v", c.Limits)
	}
}

// An included file means the same as its text in place of the <include>.
func TestIncludeIsEquivalentToItsContent(t *testing.T) {
	parts := []string{
		`<type>x</type><limit name="max_message_size">300</limit>`,
		`<policy user="root"><allow own="*"/></policy><servicedir>/a</servicedir>`,
		`<selinux><associate own="a.b" context="c"/></selinux><apparmor mode="disabled"/><auth>EXTERNAL</auth>`,
		`<servicedir>/a</servicedir><servicedir>/b</servicedir><syslog/><allow_anonymous/>`,
	}
	inline := config(t, strings.Join(parts, ""))
	f := files{}
	includes := ""
	for i, p := range parts {
		name := fmt.Sprintf("/etc/%d.conf", i)
		f[name] = "<busconfig>" + p + "</busconfig>"
		includes += "<include>" + name + "</include>"
	}
	f["/etc/bus.conf"] = body(includes)
	included := load(t, f)
	included.Files, inline.Files = nil, nil
	for _, c := range []*busconf.Config{included, inline} {
		for i := range c.Policies {
			s := &c.Policies[i]
			s.File, s.Line, s.Rules[0].File, s.Rules[0].Line = "", 0, "", 0
		}
	}
	if !reflect.DeepEqual(included, inline) {
		t.Errorf("included\n%+v\ninline\n%+v", included, inline)
	}
}

func TestMissingIncludeIsAFaultUnlessIgnored(t *testing.T) {
	refused(t, files{"/etc/bus.conf": body("<include>no.conf</include>")}, "/etc/bus.conf:3:", "/etc/no.conf")
	config(t, `<include ignore_missing="yes">no.conf</include>`)
	refused(t, files{"/etc/bus.conf": body(`<include ignore_missing="no">no.conf</include>`)}, "/etc/no.conf")
}

func TestIgnoreMissingIsAboutTheFileItselfOnly(t *testing.T) {
	refused(t, files{
		"/etc/bus.conf": body(`<include ignore_missing="yes">a.conf</include>`),
		"/etc/a.conf":   `<busconfig><include>gone.conf</include></busconfig>`,
	}, "/etc/a.conf:1:", "/etc/gone.conf")
}

func TestFileMayBeIncludedTwiceButNotInACircle(t *testing.T) {
	load(t, files{
		"/etc/bus.conf": body(`<include>a.conf</include><include>a.conf</include>`),
		"/etc/a.conf":   `<busconfig/>`,
	})
	refused(t, files{"/etc/bus.conf": body("<include>bus.conf</include>")}, "/etc/bus.conf:3:", "includes itself")
	refused(t, files{
		"/etc/bus.conf": body("<include>a.conf</include>"),
		"/etc/a.conf":   `<busconfig><include>./x/../bus.conf</include></busconfig>`,
	}, "/etc/a.conf:1:", "/etc/bus.conf > /etc/a.conf > /etc/bus.conf")
}

func TestCircleThroughSymbolicLinkEnds(t *testing.T) {
	source := files{}.source()
	// Every path is the same file, as with a link of the directory to itself.
	source.Read = func(string) ([]byte, error) { return []byte(body("<include>self/bus.conf</include>")), nil }
	if _, err := busconf.Load("/etc/bus.conf", source); err == nil || !strings.Contains(err.Error(), "include each other") {
		t.Errorf("error %v", err)
	}
}

func TestIncludeDirTakesConfFilesSorted(t *testing.T) {
	c := load(t, files{
		"/etc/bus.conf":      body("<includedir>d</includedir>"),
		"/etc/d/2.conf":      `<busconfig><auth>2</auth></busconfig>`,
		"/etc/d/1.conf":      `<busconfig><auth>1</auth></busconfig>`,
		"/etc/d/3.conf.orig": `<busconfig><auth>3</auth></busconfig>`,
	})
	if want := []string{"1", "2"}; !slices.Equal(c.Auth, want) {
		t.Errorf("auth %q, want %q", c.Auth, want)
	}
	if want := []string{"/etc/d"}; !slices.Equal(c.Dirs, want) {
		t.Errorf("dirs %q, want %q", c.Dirs, want)
	}
	if want := []string{"/etc/bus.conf", "/etc/d/1.conf", "/etc/d/2.conf"}; !slices.Equal(c.Files, want) {
		t.Errorf("files %q, want %q", c.Files, want)
	}
}

func TestMissingIncludeDirIsEmpty(t *testing.T) {
	c := config(t, `<includedir>/nowhere</includedir><include ignore_missing="yes">/no.conf</include>`)
	if want := []string{"/nowhere", "/no.conf"}; len(c.Dirs) != 0 || !slices.Equal(c.Absent, want) {
		t.Errorf("dirs %q, absent %q, want %q", c.Dirs, c.Absent, want)
	}
}

// One package with a broken file must not take down the bus of the machine,
// and nothing of the broken file may take effect.
func TestFaultInIncludeDirLeavesTheFileOutWithAWarning(t *testing.T) {
	c := load(t, files{
		"/etc/bus.conf":    body("<includedir>d</includedir>"),
		"/etc/d/bad.conf":  "<busconfig><auth>BAD</auth><limit name=\"auth_timeout\">1</limit>\n<bees/></busconfig>",
		"/etc/d/good.conf": `<busconfig><auth>GOOD</auth></busconfig>`,
	})
	if want := []string{"GOOD"}; !slices.Equal(c.Auth, want) || c.Limits.AuthTimeout.Seconds() != 30 {
		t.Errorf("auth %q, limits %+v", c.Auth, c.Limits)
	}
	if len(c.Warnings) != 1 || c.Warnings[0].String() != "/etc/d/bad.conf:2: left out: element <bees> is unknown" {
		t.Errorf("warnings %v", c.Warnings)
	}
}

func TestSELinuxIncludesNeedSELinux(t *testing.T) {
	elements := body(`<include if_selinux_enabled="yes" selinux_root_relative="yes">contexts/x</include>`)
	load(t, files{"/etc/bus.conf": elements})

	source := files{"/etc/bus.conf": elements, "/etc/selinux/t/contexts/x": "<busconfig><type>se</type></busconfig>"}.source()
	source.SELinuxRoot = "/etc/selinux/t"
	c, err := busconf.Load("/etc/bus.conf", source)
	if err != nil || c.Type != "se" {
		t.Errorf("got %+v, %v", c, err)
	}
	refused(t, files{"/etc/bus.conf": body(`<include selinux_root_relative="yes">x</include>`)}, "/etc/bus.conf:3:", "SELinux is off")
}

func TestEarlierServiceDirWins(t *testing.T) {
	c := config(t, `<servicedir>/a</servicedir><servicedir>/b</servicedir><servicedir>/a</servicedir>`)
	if want := []busconf.ServiceDir{{Path: "/a"}, {Path: "/b"}}; !slices.Equal(c.ServiceDirs, want) {
		t.Errorf("service directories %v, want %v", c.ServiceDirs, want)
	}
}

func TestSessionServiceDirsFollowTheEnvironment(t *testing.T) {
	paths := func(env map[string]string) string {
		t.Helper()
		source := files{"/etc/bus.conf": body("<standard_session_servicedirs/>")}.source()
		source.Getenv = func(name string) string { return env[name] }
		c, err := busconf.Load("/etc/bus.conf", source)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, d := range c.ServiceDirs {
			b.WriteString(d.Path)
			if d.Strict && d.Unwatched {
				b.WriteString("!")
			}
			b.WriteString(" ")
		}
		return strings.TrimSpace(b.String())
	}
	got := paths(nil)
	if want := "/usr/local/share/dbus-1/services /usr/share/dbus-1/services"; got != want {
		t.Errorf("without environment: %s", got)
	}
	got = paths(map[string]string{"XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/home/a", "XDG_DATA_DIRS": "/opt/share:"})
	if want := "/run/user/1/dbus-1/services! /home/a/.local/share/dbus-1/services /opt/share/dbus-1/services /usr/share/dbus-1/services"; got != want {
		t.Errorf("with environment: %s", got)
	}
	got = paths(map[string]string{"HOME": "/home/a", "XDG_DATA_HOME": "/data"})
	if want := "/data/dbus-1/services /usr/local/share/dbus-1/services /usr/share/dbus-1/services"; got != want {
		t.Errorf("with data home: %s", got)
	}
}

func TestSystemServiceDirs(t *testing.T) {
	var got []string
	for _, d := range config(t, "<standard_system_servicedirs/>").ServiceDirs {
		got = append(got, d.Path)
	}
	want := []string{"/etc/dbus-1/system-services", "/run/dbus-1/system-services", "/usr/local/share/dbus-1/system-services",
		"/usr/share/dbus-1/system-services", "/lib/dbus-1/system-services"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLaterAssociationOfANameFollows(t *testing.T) {
	c := config(t, `<selinux><associate own="a.b" context="x_t"/></selinux><selinux><associate own="a.b" context="y_t"/></selinux>`)
	want := []busconf.Association{{Own: "a.b", Context: "x_t"}, {Own: "a.b", Context: "y_t"}}
	if !slices.Equal(c.Security.Associations, want) {
		t.Errorf("got %v, want %v", c.Security.Associations, want)
	}
}

func TestAppArmorIsEnabledByDefault(t *testing.T) {
	for elements, want := range map[string]busconf.AppArmor{
		"": busconf.AppArmorEnabled, "<apparmor/>": busconf.AppArmorEnabled, `<apparmor mode="enabled"/>`: busconf.AppArmorEnabled,
		`<apparmor mode="disabled"/>`: busconf.AppArmorDisabled, `<apparmor mode="required"/>`: busconf.AppArmorRequired,
	} {
		if c := config(t, elements); c.Security.AppArmor != want {
			t.Errorf("%s: mode %d, want %d", elements, c.Security.AppArmor, want)
		}
	}
}
