package suites

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"quartet/services/busd/internal/buses"
)

// inSession is what is done in a session, with services that Debian's packages
// have files of: each comes because somebody wants it.
const inSession = `
echo "bus: ${DBUS_SESSION_BUS_ADDRESS%%=*}"
gdbus call --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus --method org.freedesktop.DBus.ListActivatableNames | grep -o "'ca.desrt.dconf'\|'org.a11y.Bus'" | sort
gdbus call --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus --method org.freedesktop.DBus.NameHasOwner ca.desrt.dconf
gdbus introspect --session --dest ca.desrt.dconf --object-path /ca/desrt/dconf/Writer/user | sed 's/ *$//'
gdbus call --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus --method org.freedesktop.DBus.NameHasOwner ca.desrt.dconf
gdbus call --session --dest ca.desrt.dconf --object-path /ca/desrt/dconf/Writer/user --method ca.desrt.dconf.Writer.Init
/usr/lib/qt5/bin/qdbus org.a11y.Bus /org/a11y/bus org.a11y.Bus.GetAddress | sed 's/=.*//'
/usr/lib/qt5/bin/qdbus org.a11y.Bus /org/a11y/bus | sort
gdbus call --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus --method org.freedesktop.DBus.StartServiceByName ca.desrt.dconf 0
dbus-update-activation-environment --verbose SUITE=yes
gdbus call --session --dest com.example.Environment --object-path / --method com.example.Any.Any
cat "$XDG_RUNTIME_DIR/environment"
dbus-send --session --print-reply --dest=com.example.Fails / com.example.Any.Any
dbus-send --session --print-reply --dest=com.example.Missing / com.example.Any.Any
exit 7
`

// Services of this test's own, where a user would install them.
var inHome = map[string]string{
	"com.example.Environment": `/bin/sh -c 'env | grep -oE "^(SUITE=.*|DBUS_STARTER_BUS_TYPE=.*|DBUS_[A-Z_]*ADDRESS)" | sort >"$XDG_RUNTIME_DIR/environment"; exec dbus-test-tool echo --session --name=com.example.Environment'`,
	"com.example.Fails":       "/bin/sh -c 'exit 3'",
	"com.example.Missing":     "/nonexistent",
}

func TestASessionWorks(t *testing.T) {
	long(t)
	t.Parallel()
	need(t, "dbus-run-session", "dbus-daemon")
	need(t, "gdbus", "libglib2.0-bin")
	need(t, "/usr/lib/qt5/bin/qdbus", "qdbus-qt5")
	need(t, "dbus-test-tool", "dbus-bin")
	for name, debian := range map[string]string{"ca.desrt.dconf": "dconf-service", "org.a11y.Bus": "at-spi2-core"} {
		if file := "/usr/share/dbus-1/services/" + name + ".service"; !exists(file) {
			without(t, file, debian)
		}
	}
	ours, theirs := session(t, program(t, buses.Busd)), session(t, program(t, buses.Daemon))
	if ours != theirs {
		t.Errorf("on busd:\n%s\non dbus-daemon:\n%s", indent(ours), indent(theirs))
	}
}

// session runs inSession in a session of its own and returns what it printed.
func session(t *testing.T, daemon string) string {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	home := t.TempDir()
	services := filepath.Join(home, ".local/share/dbus-1/services")
	err := os.MkdirAll(services, 0o755)
	for name, command := range inHome {
		if err == nil {
			err = os.WriteFile(filepath.Join(services, name+".service"), []byte("[D-BUS Service]\nName="+name+"\nExec="+command+"\n"), 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := shell(ctx, home, "", `exec dbus-run-session --dbus-daemon="$DAEMON" -- sh -c "exec >out 2>&1; $SCRIPT"`)
	cmd.Env = append(cmd.Env, "DAEMON="+daemon, "SCRIPT="+inSession, "XDG_RUNTIME_DIR="+t.TempDir(), "XDG_DATA_HOME="+filepath.Join(home, ".local/share"), "XDG_DATA_DIRS=/usr/share")
	// A file, which the services may keep, and not a pipe to wait for.
	log, err := os.Create(filepath.Join(home, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	ended := code(t, cmd.Run())
	said, logErr := os.ReadFile(log.Name())
	text, err := os.ReadFile(filepath.Join(home, "out"))
	if err := errors.Join(err, logErr); err != nil {
		t.Fatal(err)
	}
	if ended != 7 {
		t.Fatalf("dbus-run-session with %s: exit code %d, not that of the session\n%s\n%s", daemon, ended, indent(string(text)), indent(string(said)))
	}
	return normal(string(text), nil)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
