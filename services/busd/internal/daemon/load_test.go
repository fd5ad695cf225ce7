package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quartet/services/busd/internal/daemon"
	"quartet/services/busd/internal/policy"
)

const allowAll = `<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>`

func configuration(t *testing.T, inside string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bus.conf")
	if err := os.WriteFile(file, []byte("<busconfig><listen>unix:tmpdir=/tmp</listen>"+inside+"</busconfig>"), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestStandaloneLetsTheOwnUserDoEverything(t *testing.T) {
	l, err := daemon.Load("")
	if err != nil {
		t.Fatal(err)
	}
	set := l.Settings.Policy
	own := policy.Identity{UID: 1000, Known: true}
	if v := set.MayConnect(own, 1000); !v.Allow {
		t.Error(v)
	}
	if v := set.MayConnect(policy.Identity{UID: 1001, Known: true}, 1000); v.Allow {
		t.Error("another user may connect")
	}
	if c := set.For(own); !c.SendsAll() || !c.ReceivesAll() || !c.CanOwn("a.b").Allow {
		t.Error("the own user may not do everything")
	}
	if m := l.Settings.Mechanisms; !m.External || m.Anonymous || m.CookieSHA1 {
		t.Errorf("mechanisms %+v", m)
	}
}

// A bus that cannot keep what its configuration demands does not start.
func TestRequiredAppArmorIsRefused(t *testing.T) {
	if _, err := daemon.Load(configuration(t, `<apparmor mode="required"/>`)); err == nil || !strings.Contains(err.Error(), "apparmor") {
		t.Errorf("error %v", err)
	}
	if _, err := daemon.Load(configuration(t, `<apparmor mode="enabled"/>`)); err != nil {
		t.Error(err)
	}
}

func TestMechanismsThatNobodyKnowsAreWarnedOf(t *testing.T) {
	l, err := daemon.Load(configuration(t, `<auth>EXTERNAL</auth><auth>KERBEROS</auth>`))
	if err != nil {
		t.Fatal(err)
	}
	if m := l.Settings.Mechanisms; !m.External || m.Anonymous || m.CookieSHA1 {
		t.Errorf("mechanisms %+v", m)
	}
	if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].String(), "KERBEROS") {
		t.Errorf("warnings %v", l.Warnings)
	}
}

// Nobody could connect to such a bus, and dbus-daemon does not start either.
func TestOnlyUnknownMechanismsAreRefused(t *testing.T) {
	if _, err := daemon.Load(configuration(t, `<auth>KERBEROS</auth>`)); err == nil || !strings.Contains(err.Error(), "KERBEROS") {
		t.Errorf("error %v", err)
	}
}

func TestAFileThatCannotBeReadIsNamedOnce(t *testing.T) {
	for name, want := range map[string]string{"/no-such-file": "/no-such-file: no such file or directory", "/": "/: is a directory"} {
		if _, err := daemon.Load(name); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestAByteOrderMarkIsNoText(t *testing.T) {
	file := configuration(t, "")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append([]byte("\xef\xbb\xbf"), text...), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Load(file); err != nil {
		t.Error(err)
	}
}

// systemd#19212: a policy for a user who is not known is said aloud, and looked
// up anew with each load.
func TestUnknownUsersAreWarnedOf(t *testing.T) {
	l, err := daemon.Load(configuration(t, `<policy user="nobody-here-has-this-name"><allow own="a.b"/></policy>`+allowAll))
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].Message, "nobody-here-has-this-name") {
		t.Errorf("warnings %v", l.Warnings)
	}
}

func TestFaultsHaveFileAndLine(t *testing.T) {
	file := configuration(t, "\n<limit name=\"no_such_limit\">3</limit>")
	if _, err := daemon.Load(file); err == nil || !strings.Contains(err.Error(), file+":2") {
		t.Errorf("error %v", err)
	}
}
