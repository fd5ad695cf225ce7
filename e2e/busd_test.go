package e2e_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"quartet/e2e/internal/stack"
)

const (
	echoName      = "org.quartet.Echo"
	echoPath      = dbus.ObjectPath("/org/quartet/Echo")
	echoInterface = "org.quartet.Echo1"
)

// session has two clients meet on a bus: one has a name and answers, the other
// calls it and hears its signal.
func session(t *testing.T, address string) {
	t.Helper()
	one, two := join(t, address), join(t, address)
	echo := func(text string) (string, *dbus.Error) { return text + text, nil }
	if err := one.ExportMethodTable(map[string]any{"Twice": echo}, echoPath, echoInterface); err != nil {
		t.Fatal(err)
	}
	if reply, err := one.RequestName(echoName, 0); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("the name: %v, %v", reply, err)
	}
	var said string
	if err := two.Object(echoName, echoPath).Call(echoInterface+".Twice", 0, "ha").Store(&said); err != nil || said != "haha" {
		t.Errorf("the call: %q, %v", said, err)
	}
	if err := two.AddMatchSignal(dbus.WithMatchInterface(echoInterface), dbus.WithMatchArg(0, "hello")); err != nil {
		t.Fatal(err)
	}
	signals := make(chan *dbus.Signal, 2)
	two.Signal(signals)
	for _, text := range []string{"not for you", "hello"} {
		if err := one.Emit(echoPath, echoInterface+".Said", text); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case s := <-signals:
		if s.Name != echoInterface+".Said" || s.Body[0] != "hello" || s.Sender != one.Names()[0] {
			t.Errorf("heard %+v", s)
		}
	case <-time.After(stack.Patience):
		t.Error("no signal came")
	}
	if err := two.Object("org.quartet.Nobody", echoPath).Call(echoInterface+".Twice", 0, "ha").Err; !isError(err, "org.freedesktop.DBus.Error.ServiceUnknown") {
		t.Errorf("a call to nobody: %v", err)
	}
}

func join(t *testing.T, address string) *dbus.Conn {
	t.Helper()
	c, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func isError(err error, name string) bool {
	e, is := errors.AsType[dbus.Error](err)
	return is && e.Name == name
}

func TestBusServesAndSaysHowItIs(t *testing.T) {
	b := stack.StartBus(t)
	session(t, b.Address)
	if out, err := exec.Command(stack.Program(t, "busd"), "healthcheck", b.Address).CombinedOutput(); err != nil {
		t.Errorf("healthcheck: %v: %s", err, out)
	}
	// The names that every service shares, and its own, as a scrape sees them.
	names := []string{
		`quartet_request_duration_seconds_count{operation="batch",outcome="ok"`, `quartet_request_own_duration_seconds_bucket{`, `le="0.1"`,
		`phase="queue"`, `phase="dispatch"`, `phase="compute"`, `phase="send"`,
		`quartet_busd_messages_total`, `quartet_busd_deliveries_total`, `quartet_busd_waiting_bytes`, `reason="stalled"`, `service_name="busd"`,
	}
	metrics := b.Metrics(t)
	for _, name := range names {
		if !strings.Contains(string(metrics), name) {
			t.Errorf("no %s in\n%s", name, metrics)
		}
	}
	whole, own, send := metrics.Sum("quartet_request_duration_seconds_sum"), metrics.Sum("quartet_request_own_duration_seconds_sum"), metrics.Sum("quartet_request_phase_duration_seconds_sum", `phase="send"`)
	if phases := metrics.Sum("quartet_request_phase_duration_seconds_sum"); whole == 0 || !near(whole, phases) || !near(whole, own+send) {
		t.Errorf("%g s in all, %g by phases, %g own and %g sending", whole, phases, own, send)
	}
	if kept, all := metrics.Sum("quartet_request_own_duration_seconds_bucket", `le="0.1"`), metrics.Sum("quartet_request_own_duration_seconds_count"); kept > all || all == 0 {
		t.Errorf("%g of %g batches kept the budget", kept, all)
	}
}

func near(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }

func TestStoppedBusTakesItsSocketAlong(t *testing.T) {
	b := stack.StartBus(t)
	c := join(t, b.Address)
	if err := b.Stop(); err != nil {
		t.Errorf("busd ended with %v", err)
	}
	if _, err := os.Stat(b.Socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket: %v", err)
	}
	select {
	case <-c.Context().Done():
	case <-time.After(stack.Patience):
		t.Error("a client was not told")
	}
}

func TestBusTakesThePlaceOfOneThatWasKilled(t *testing.T) {
	b := stack.StartBus(t)
	b.Kill()
	if _, err := os.Stat(b.Socket); err != nil {
		t.Fatalf("nothing was left behind: %v", err)
	}
	b.Start(t)
	session(t, b.Address)
}

func TestBusHasNoPortUnlessItIsToldTo(t *testing.T) {
	b := stack.StartBus(t)
	if opened(t, b.Pid(), "tcp") == 0 {
		t.Fatal("not even the admin server's is seen")
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	quiet := stack.Start(t, "busd", nil, "--standalone", "--address="+b.Address)
	stack.Eventually(t, "it answers", func() error {
		c, err := dbus.Connect(b.Address)
		if err == nil {
			c.Close()
		}
		return err
	})
	if n := opened(t, quiet.Pid(), "tcp") + opened(t, quiet.Pid(), "tcp6"); n != 0 {
		t.Errorf("it has %d sockets of TCP", n)
	}
}

// opened is how many sockets of a protocol a process has.
func opened(t *testing.T, pid int, protocol string) (n int) {
	t.Helper()
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, protocol))
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, f.Name()))
		inode, is := strings.CutPrefix(to, "socket:[")
		if is && strings.Contains(string(table), " "+strings.TrimSuffix(inode, "]")+" ") {
			n++
		}
	}
	return n
}

// Who does not read is ended and named; nobody else notices.
func TestStalledClientAloneIsEnded(t *testing.T) {
	b := stack.StartBus(t, "BUSD_SEND_TIMEOUT=1s")
	control := stack.FreeAddr(t)
	sim := stack.Sim{URL: "http://" + control}
	stack.Start(t, "simbus", nil, "-listen", control, "-bus", b.Address, "-every", "5ms").WaitHTTP(t, sim.URL+"/_sim/health", http.StatusNoContent)
	sim.Put(t, "quirks", map[string]any{"stall": 1, "nonsense": 1})
	stack.Eventually(t, "both strangers are ended", func() error {
		m := b.Metrics(t)
		for _, reason := range []string{"stalled", "invalid"} {
			if n := m.Sum("quartet_busd_connections_ended_total", `reason="`+reason+`"`); n != 1 {
				return fmt.Errorf("%g ended as %s", n, reason)
			}
		}
		return nil
	})
	if log := b.Log(); !strings.Contains(log, `"reason":"stalled"`) || !strings.Contains(log, `"program":"simbus"`) {
		t.Errorf("the log does not name it: %s", log)
	}
	if stats := sim.Stats(t); stats["connects"] != 5.0 || stats["connected"] != 5.0 || stats["calls_failed"] != 0.0 {
		t.Errorf("others noticed: %v", stats)
	}
}

// The units' command lines, environment, socket activation and word to systemd
// fit the program.
func TestUnitStartsTheBus(t *testing.T) {
	b := stack.StartBusUnit(t, "busd-session.service", "/usr/share/dbus-1/session.conf")
	session(t, b.Address)
	if err := b.Stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(b.Socket); err != nil {
		t.Errorf("it took away the socket that is systemd's: %v", err)
	}
}

func TestArm64BusServes(t *testing.T) {
	b := stack.StartArm64Bus(t)
	session(t, b.Address)
	b.Signal(syscall.SIGTERM)
	if err := b.Wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, b.Log())
	}
	if _, err := os.Stat(b.Socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket: %v", err)
	}
}
