package main

import (
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"
	"time"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/daemon"
	"quartet/services/busd/internal/wire"
)

var update = flag.Bool("update", false, "rewrite docs/config.md")

func output(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := run(t.Context(), args, &out)
	return out.String(), err
}

// What operators read must be what the program reads.
func TestConfigPageIsCurrent(t *testing.T) {
	table, err := output(t, "env", "--markdown")
	if err != nil {
		t.Fatal(err)
	}
	want := "# Configuration of busd by environment\n\nMade by `busd env --markdown`; after a change run\n`go test ./services/busd/cmd/busd -update`. What the bus allows and where it\nlistens is in dbus-daemon's configuration file.\n\n" + table
	const page = "../../docs/config.md"
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != want {
		t.Errorf("docs/config.md is not what busd env --markdown prints (%v); run this test with -update", err)
	}
}

func TestWrongUsageOfSubCommands(t *testing.T) {
	for _, args := range [][]string{
		{"serve"}, {"env", "--json"}, {"version", "1"}, {"top", "--all"}, {"top", "a", "b"}, {"healthcheck", ""}, {"check"}, {"check", "--x"}, {"check", "x", "y"},
		{"check", "x", "--would-allow", "uid=1"},
		{"check", "x", "--would-allow", "gid=1", "a.b", "member=C"},
		{"check", "x", "--would-allow", "uid=1", "a", "member=C"},
		{"check", "x", "--would-allow", "uid=root", "a.b", "member=C"},
		{"check", "x", "--would-allow", "uid=1", "a.b", "type=call"},
		{"check", "x", "--would-allow", "uid=1", "a.b", "member"},
		{"check", "x", "--would-allow", "uid=1", "a.b", "fds=many"},
		{"check", "x", "--would-allow", "uid=1", "a.b", "interface=a.I member=C"},
		{"check", "x", "--would-allow", "uid=1", "a.b", "path=a"},
		{"check", "x", "--would-own", "uid=1"},
		{"check", "x", "--would-own", "gid=1", "a.b"},
		{"check", "x", "--would-own", "uid=root", "a.b"},
		{"check", "x", "--would-own", "uid=1", ":1.2"},
		{"check", "x", "--would-own", "uid=1", "org.freedesktop.DBus"},
	} {
		if out, err := output(t, args...); !errors.Is(err, errUsage) || out != "" {
			t.Errorf("busd %q: error %v, printed %q", args, err, out)
		}
	}
}

func TestHelpNamesEverySubCommand(t *testing.T) {
	out, err := output(t, "help")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"--print-address[=DESCRIPTOR]", "--standalone", "busd check CONFIG", "--would-allow", "--would-own", "busd top", "busd env", "busd healthcheck", "busd version"} {
		if !strings.Contains(out, word) {
			t.Errorf("%s is missing in:\n%s", word, out)
		}
	}
}

func TestCheckExplains(t *testing.T) {
	p := newPlace(t, `<type>system</type><auth>EXTERNAL</auth><limit name="max_names_per_connection">7</limit><servicedir>DIR</servicedir>
<policy user="nobody-has-this-name"><deny own="*"/></policy>`+open)
	service := "[D-BUS Service]\nName=a.b\nExec=/bin/true\nSystemdService=ab.service\n"
	if err := os.WriteFile(p.dir+"/x.service", []byte(service), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := output(t, "check", p.config)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"type         system", "listens on   " + p.address(), "auth         EXTERNAL", `context="default"`, "4 allow,   0 deny  " + p.config + ":2",
		"max_names_per_connection         7 in place of 512", "/bin/true; by systemd: ab.service", "warning: " + p.config + ":2",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is missing in:\n%s", line, out)
		}
	}
	p.write(t, "<listen>x</listen>\n<bogus/>")
	if _, err := output(t, "check", p.config); err == nil || errors.Is(err, errUsage) || !strings.Contains(err.Error(), p.config+":2") {
		t.Errorf("a faulty one: %v", err)
	}
}

// What only a start would find is found too.
func TestCheckFindsWhatKeepsABusFromStarting(t *testing.T) {
	p := newPlace(t, `<user>nobody-has-this-name</user><listen>unix:path</listen>
<listen>unix:path=DIR/x,foo=bar</listen><listen>launchd:env=X</listen><listen>launchd:env=Y;unix:path=DIR/y</listen>`+open)
	out, err := output(t, "check", p.config)
	for _, says := range []string{"<user>nobody-has-this-name", `<listen>: address "unix:path"`, `takes no key "foo"`, "launchd:env=X"} {
		if !errors.Is(err, errRefused) || !strings.Contains(out, says) {
			t.Errorf("error %v, %q is missing in\n%s", err, says, out)
		}
	}
	if n := strings.Count(out, "fault: no bus starts with this: "); n != 4 {
		t.Errorf("%d faults in\n%s", n, out)
	}
}

func TestWrongKeysOfAPartyAreNamed(t *testing.T) {
	for party, says := range map[string]string{"user=root": `"user" is none of uid, gid and name`, "uid=root": "uid=root: it has to be a number"} {
		if _, err := parseParty(party); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", party, err)
		}
	}
}

// Only a refusal is the configuration's doing.
func TestTopTellsARefusalFromABusThatIsGone(t *testing.T) {
	const hint = "has to allow"
	p := newPlace(t, open+`<policy context="mandatory"><deny send_interface="org.freedesktop.DBus.Debug.Stats"/></policy>`)
	b := start(t, nil, "--config-file="+p.config)
	c := dial(t, b.address)
	if _, err := lookAt(c); err == nil || !strings.Contains(err.Error(), hint) {
		t.Errorf("refused: %v", err)
	}
	b.stop(t)
	if _, err := lookAt(c); err == nil || strings.Contains(err.Error(), hint) {
		t.Errorf("gone: %v", err)
	}
}

// It may run for days, and everybody can send something to it.
func TestTopKeepsNothingThatOthersSend(t *testing.T) {
	p := newPlace(t, open)
	b := start(t, nil, "--config-file="+p.config)
	c, other := dial(t, b.address), dial(t, b.address)
	if _, err := other.Send(wire.Header{Type: wire.Signal, Path: "/", Interface: "a.b", Member: "S", Destination: c.Name}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Settle(); err != nil {
		t.Fatal(err)
	}
	if _, err := lookAt(c); err != nil {
		t.Fatal(err)
	}
	if kept := c.Waiting(); len(kept) != 0 {
		t.Errorf("%d messages are kept", len(kept))
	}
}

// A bus that hangs is why somebody looks, and Ctrl-C is how they end that.
func TestTopOfABusThatHangsCanBeInterrupted(t *testing.T) {
	p := newPlace(t, open)
	l, err := net.Listen("unix", p.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = conn.Read(make([]byte, 1)) // it has begun
			defer conn.Close()
		}
		interrupt()
		<-t.Context().Done()
	}()
	began := time.Now()
	var out strings.Builder
	if err := run(ctx, []string{"top", p.address()}, &out); err != nil || out.Len() > 0 {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	if took := time.Since(began); took >= client.DefaultTimeout {
		t.Errorf("it took %v", took)
	}
}

func TestTopCutsLinesAtTheEdge(t *testing.T) {
	for page, want := range map[string]string{"12345\n123456\n1…34567\n": "12345\n12345\n1…345\n", "1\n": "1\n", "": ""} {
		if got := string(cut([]byte(page), 5)); got != want {
			t.Errorf("%q became %q, want %q", page, got, want)
		}
		if got := string(cut([]byte(page), 0)); got != page {
			t.Errorf("without an edge %q became %q", page, got)
		}
	}
}

// Every user chooses what its processes are called.
func TestTopShowsNoControlCharacters(t *testing.T) {
	const comm = "/proc/self/comm"
	was, err := os.ReadFile(comm)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(comm, was, 0); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(comm, []byte("a\x1b[J\nb\a\u009b\u202e\xff"), 0); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t, open)
	b := start(t, nil, "--config-file="+p.config)
	dial(t, b.address)
	out, err := output(t, "top", b.address)
	if err != nil {
		t.Fatal(err)
	}
	if want := " a\ufffd[J b\ufffd\ufffd\ufffd\ufffd "; !strings.Contains(out, want) {
		t.Errorf("printed\n%q, without %q", out, want)
	}
}

func TestCheckNamesTheDecidingRule(t *testing.T) {
	p := newPlace(t, `<policy context="default">
<allow user="*"/><allow receive_sender="*"/>
<deny send_destination="*"/>
<allow send_destination="a.b" send_interface="a.I"/>
</policy>
<policy group="100">
<deny receive_sender="x.y"/>
</policy>`)
	for _, tt := range []struct {
		sender, receiver, message string
		says                      []string
		refused                   bool
	}{
		{"uid=1", "uid=2,name=a.b", "interface=a.I,member=C", []string{"connect  allowed by " + p.config + ":2", "send     allowed by " + p.config + ":4", "receive  allowed by " + p.config + ":2"}, false},
		{"uid=1", "a.b", "interface=a.J,member=C", []string{"send     refused by " + p.config + ":3", "receive  unknown"}, true},
		{"uid=1,name=x.y", "uid=2,gid=100,name=a.b", "interface=a.I,member=C", []string{"receive  refused by " + p.config + ":7"}, true},
		{"org.freedesktop.DBus", "uid=2", "type=signal,interface=org.freedesktop.DBus,member=NameLost", []string{"receive  allowed by " + p.config + ":2"}, false},
	} {
		out, err := output(t, "check", p.config, "--would-allow", tt.sender, tt.receiver, tt.message)
		if errors.Is(err, errRefused) != tt.refused || err != nil && !tt.refused {
			t.Errorf("%+v: %v", tt, err)
		}
		for _, says := range tt.says {
			if !strings.Contains(out, says) {
				t.Errorf("%+v: %q is missing in:\n%s", tt, says, out)
			}
		}
	}
}

func TestCheckSaysWhoMayOwnAName(t *testing.T) {
	p := newPlace(t, `<policy context="default">
<allow user="*"/><deny own="*"/>
<allow own_prefix="a.b"/>
</policy>
<policy user="0">
<allow own="c.d"/>
</policy>
<policy context="mandatory">
<deny own="a.b.secret"/>
</policy>`)
	for _, tt := range []struct {
		sender, name, says string
		refused            bool
	}{
		{"uid=1", "a.b.c", "own      allowed by " + p.config + ":3", false},
		{"uid=1", "a.b.secret", "own      refused by " + p.config + ":9", true},
		{"uid=1", "c.d", "own      refused by " + p.config + ":2", true},
		{"uid=0", "c.d", "own      allowed by " + p.config + ":6", false},
	} {
		out, err := output(t, "check", p.config, "--would-own", tt.sender, tt.name)
		if errors.Is(err, errRefused) != tt.refused || err != nil && !tt.refused || !strings.Contains(out, tt.says) {
			t.Errorf("%+v: %v\n%s", tt, err, out)
		}
	}
}

// Where no rule says who may connect, only the user of the bus may.
func TestCheckAsksForTheUserOfTheBus(t *testing.T) {
	name := map[bool]string{true: "nobody", false: "root"}[os.Getuid() == 0] // not us
	other, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	const rules = `<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>`
	p := newPlace(t, "<user>"+name+"</user>"+rules)
	for uid, want := range map[string]string{other.Uid: "connect  allowed: no rule matches", strconv.Itoa(os.Getuid()): "connect  refused: no rule matches"} {
		for _, question := range [][]string{{"--would-allow", "uid=" + uid, "a.b", "member=C"}, {"--would-own", "uid=" + uid, "a.b"}} {
			out, err := output(t, append([]string{"check", p.config}, question...)...)
			if !strings.Contains(out, want) || errors.Is(err, errRefused) != strings.Contains(want, "refused") {
				t.Errorf("%v: %v, want %q in\n%s", question, err, want, out)
			}
		}
	}
	p.write(t, "<listen>"+p.address()+"</listen><user>nobody-has-this-name</user>"+rules)
	if out, err := output(t, "check", p.config, "--would-own", "uid=1", "a.b"); err == nil || !strings.Contains(err.Error(), "nobody-has-this-name") || out != "" {
		t.Errorf("a bus of nobody: %v, printed %q", err, out)
	}
}

func TestCheckKnowsWhoIsAtTheConsole(t *testing.T) {
	p := newPlace(t, `<policy context="default"><allow user="*"/></policy>
<policy at_console="true"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>`)
	l, err := daemon.Load(p.config)
	if err != nil {
		t.Fatal(err)
	}
	l.Settings.AtConsole = func(uid uint32) bool { return uid == 7 } // a file in /run/console, of which the machine may have none
	for _, tt := range []struct {
		question []string
		says     []string
	}{
		{[]string{"--would-allow", "uid=7", "uid=8,name=a.b", "member=C"}, []string{"send     allowed by", "receive  refused"}},
		{[]string{"--would-allow", "uid=8", "uid=7,name=a.b", "member=C"}, []string{"send     refused", "receive  allowed by"}},
		{[]string{"--would-own", "uid=7", "a.b"}, []string{"own      allowed by"}},
		{[]string{"--would-own", "uid=8", "a.b"}, []string{"own      refused"}},
	} {
		answer, err := parseCheck(append([]string{p.config}, tt.question...))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := answer(&out, l); err != nil && !errors.Is(err, errRefused) {
			t.Error(err)
		}
		for _, says := range tt.says {
			if !strings.Contains(out.String(), says) {
				t.Errorf("%v: %q is missing in:\n%s", tt.question, says, out.String())
			}
		}
	}
}

func TestTopShowsPeersAndTheirNames(t *testing.T) {
	p := newPlace(t, open)
	b := start(t, nil, "--config-file="+p.config)
	c := dial(t, b.address)
	if _, err := c.RequestName("a.b", 0); err != nil {
		t.Fatal(err)
	}
	if err := c.AddMatch("member='X'"); err != nil {
		t.Fatal(err)
	}
	out, err := output(t, "top", b.address)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "2 connections, 3 names, 1 rules") || !strings.Contains(out, c.Name) || !strings.Contains(out, "busd.test") || !strings.Contains(out, "a.b") {
		t.Errorf("printed\n%s", out)
	}
	if out, err := output(t, "healthcheck", b.address); err != nil || out != "ready\n" {
		t.Errorf("healthcheck: %q, %v", out, err)
	}
	b.stop(t)
	if _, err := output(t, "healthcheck", b.address); err == nil || errors.Is(err, errUsage) {
		t.Errorf("healthcheck of none: %v", err)
	}
}
