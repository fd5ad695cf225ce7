package suites

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"quartet/services/busd/internal/buses"
)

// python is Debian's own, which its packages are for.
const python = "/usr/bin/python3"

func TestPythonDBus(t *testing.T) {
	need(t, python, "python3-dbus")
	if err := exec.Command(python, "-c", "import dbus, dbus.mainloop.glib, gi").Run(); err != nil {
		without(t, "python3-dbus", "python3-dbus python3-gi")
	}
	stage{}.play(t, []step{
		{run: python + " $SUITES/names.py"},
		{run: python + " $SUITES/service.py"},
	})
}

// A proxy stands between a client in a sandbox and the bus.
//
// busctl is not among the clients: it sends everything at once, which the
// proxy does not understand, whatever bus is behind it (flatpak/xdg-dbus-proxy#26).
func TestXDGDBusProxy(t *testing.T) {
	need(t, "xdg-dbus-proxy", "xdg-dbus-proxy")
	need(t, "gdbus", "libglib2.0-bin")
	need(t, "dbus-test-tool", "dbus-bin")
	through := func(filter, command string) string {
		return "xdg-dbus-proxy $A $HOME/proxy " + filter + " & proxy=$!; until [ -e $HOME/proxy ]; do sleep 0.05; done; " +
			strings.ReplaceAll(command, "$A", "unix:path=$HOME/proxy") + "; code=$?; kill $proxy; exit $code"
	}
	echo.play(t, []step{
		{run: through("", "gdbus call --address $A "+bus2+" --method org.freedesktop.DBus.NameHasOwner com.example.Echo")},
		{run: through("--filter", "gdbus call --address $A "+bus2+" --method org.freedesktop.DBus.NameHasOwner com.example.Echo")},
		{run: through("--filter", "gdbus call --address $A --dest com.example.Echo --object-path / --method com.example.Any.Any")},
		{run: through("--filter --talk=com.example.Echo", "gdbus call --address $A --dest com.example.Echo --object-path / --method com.example.Any.Any")},
		{run: through("--filter --own=com.example.Mine", "gdbus call --address $A "+bus2+" --method org.freedesktop.DBus.RequestName com.example.Mine 0")},
		{run: through("--filter --own=com.example.Mine", "gdbus call --address $A "+bus2+" --method org.freedesktop.DBus.RequestName com.example.Other 0")},
		{run: through("--filter --see=com.example.Echo", "gdbus call --address $A "+bus2+" --method org.freedesktop.DBus.ListNames"), keep: "exit"},
	})
}

// godbus is the version of github.com/godbus/dbus/v5 whose tests are run.
const godbus = "v5.2.2"

// asDaemon is a folder where busd is called dbus-daemon when kind is busd: some
// of the tests start a bus of their own.
func asDaemon(t *testing.T, kind buses.Kind) string {
	dir := t.TempDir()
	if kind == buses.Busd {
		if err := os.Symlink(program(t, kind), filepath.Join(dir, "dbus-daemon")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The tests of godbus as a module of its own, which nothing here depends on.
func TestGodbus(t *testing.T) {
	t.Parallel()
	long(t)
	dir := t.TempDir()
	gocmd := func(args ...string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GONOSUMDB=")
		return cmd.CombinedOutput()
	}
	module := "module scratch\n\ngo 1.25\n\nrequire github.com/godbus/dbus/v5 " + godbus + "\n"
	use := "package scratch\n\nimport _ \"github.com/godbus/dbus/v5\"\n"
	for name, text := range map[string]string{"go.mod": module, "scratch.go": use} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "godbus.test")
	if out, err := gocmd("test", "-c", "-o", binary, "github.com/godbus/dbus/v5"); err != nil {
		if os.Getenv("CI") == "" {
			t.Skipf("godbus cannot be had: %v\n%s", err, out)
		}
		t.Fatalf("godbus cannot be had: %v\n%s", err, out)
	}
	list, err := gocmd("list", "-f", "{{.Dir}}", "github.com/godbus/dbus/v5")
	if err != nil {
		t.Fatal(err)
	}
	result := regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): (\S+)`)
	passes := map[buses.Kind]map[string]bool{}
	for _, kind := range []buses.Kind{buses.Daemon, buses.Broker, buses.Busd} {
		t.Run(string(kind), func(t *testing.T) {
			b := buses.ForTest(t, kind, buses.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := shell(ctx, strings.TrimSpace(string(list)), b.Address, binary+" -test.v")
			cmd.Env = append(cmd.Env, "HOME="+t.TempDir(), "PATH="+asDaemon(t, kind)+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the buses that it leaves behind
			passes[kind] = map[string]bool{}
			for _, m := range result.FindAllStringSubmatch(string(out), -1) {
				passes[kind][m[2]] = m[1] == "PASS"
			}
			if kind == buses.Busd && err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	ran := 0
	for name, passed := range passes[buses.Daemon] {
		if !passed {
			continue
		}
		ran++
		if !passes[buses.Busd][name] {
			t.Errorf("%s passes on dbus-daemon and not on busd", name)
		}
	}
	if ran < 50 && !t.Skipped() {
		t.Errorf("only %d tests of godbus pass on dbus-daemon", ran)
	}
	t.Logf("%d tests of godbus %s", ran, godbus)
}
