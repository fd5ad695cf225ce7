package sdnotify_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quartet/kit/sdnotify"
)

var errHangs = errors.New("no answer")

// manager is systemd's end of the socket.
type manager struct {
	conn *net.UnixConn
	env  map[string]string
}

// manage listens at name, and asks for life signs within watchdog, if that is
// not 0.
func manage(t *testing.T, name string, watchdog time.Duration) *manager {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	m := &manager{conn: conn, env: map[string]string{"NOTIFY_SOCKET": name}}
	if watchdog > 0 {
		m.env["WATCHDOG_USEC"] = strconv.FormatInt(watchdog.Microseconds(), 10)
		m.env["WATCHDOG_PID"] = strconv.Itoa(os.Getpid())
	}
	return m
}

func (m *manager) getenv(name string) string { return m.env[name] }

// next returns the lines of the next datagram that has one of the given.
func (m *manager) next(t *testing.T, any ...string) []string {
	t.Helper()
	if err := m.conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for {
		n, err := m.conn.Read(buf)
		if err != nil {
			t.Fatalf("waiting for %v: %v", any, err)
		}
		lines := strings.Split(string(buf[:n]), "\n")
		if slices.ContainsFunc(lines, func(line string) bool { return slices.Contains(any, line) }) {
			return lines
		}
	}
}

// run runs a service that says what verdict holds, and returns how to stop it.
func run(t *testing.T, m *manager, verdict *atomic.Pointer[error]) (stop func()) {
	t.Helper()
	n, err := sdnotify.New(m.getenv)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.Run(ctx, sdnotify.Service{
			Ready: func(context.Context) error { return *verdict.Load() },
			Alive: func(ready error) bool { return !errors.Is(ready, errHangs) },
			Stop:  20 * time.Second,
		})
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func says(err error) *atomic.Pointer[error] {
	v := new(atomic.Pointer[error])
	v.Store(&err)
	return v
}

func set(v *atomic.Pointer[error], err error) { v.Store(&err) }

func TestLifeOfAService(t *testing.T) {
	for _, name := range []string{
		filepath.Join(t.TempDir(), "notify"),
		"@quartet-sdnotify-test-" + strconv.Itoa(os.Getpid()),
	} {
		m := manage(t, name, 100*time.Millisecond)
		verdict := says(errors.New("signal\nis not connected"))
		stop := run(t, m, verdict)
		if got := m.next(t, "STATUS=not ready: signal is not connected"); !slices.Contains(got, "EXTEND_TIMEOUT_USEC=30000000") || slices.Contains(got, "READY=1") {
			t.Errorf("%s: before it is ready: %q", name, got)
		}
		set(verdict, nil)
		if got := m.next(t, "READY=1"); !slices.Contains(got, "STATUS=ready") || !slices.Contains(got, "WATCHDOG=1") {
			t.Errorf("%s: ready: %q", name, got)
		}
		if got := m.next(t, "WATCHDOG=1", "READY=1"); !slices.Equal(got, []string{"WATCHDOG=1"}) {
			t.Errorf("%s: alive: %q", name, got)
		}
		set(verdict, errors.New("signal is gone"))
		if got := m.next(t, "STATUS=not ready: signal is gone"); !slices.Equal(got, []string{"WATCHDOG=1", "STATUS=not ready: signal is gone"}) {
			t.Errorf("%s: not ready, and alive: %q", name, got)
		}
		stop()
		if got := m.next(t, "STOPPING=1"); !slices.Contains(got, "EXTEND_TIMEOUT_USEC=20000000") {
			t.Errorf("%s: stopping: %q", name, got)
		}
	}
}

// A hanging check must starve the watchdog, and must not lengthen the start.
func TestWhatHangsIsNotAlive(t *testing.T) {
	m := manage(t, filepath.Join(t.TempDir(), "notify"), 20*time.Millisecond)
	verdict := says(errHangs)
	stop := run(t, m, verdict)
	if got := m.next(t, "STATUS=not ready: no answer"); len(got) != 1 {
		t.Errorf("a start that hangs: %q", got)
	}
	set(verdict, nil)
	m.next(t, "READY=1")
	set(verdict, errHangs)
	m.next(t, "STATUS=not ready: no answer")
	time.AfterFunc(200*time.Millisecond, stop) // ten lives of the watchdog
	if got := m.next(t, "WATCHDOG=1", "STOPPING=1"); got[0] != "STOPPING=1" {
		t.Errorf("a service that hangs: %q", got)
	}
}

func TestWithoutAWatchdogThereIsNoLifeSign(t *testing.T) {
	for _, env := range []map[string]string{{}, {"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}} {
		m := manage(t, filepath.Join(t.TempDir(), "notify"), 0)
		for name, value := range env {
			m.env[name] = value
		}
		verdict := says(nil)
		run(t, m, verdict)
		if got := m.next(t, "READY=1"); slices.Contains(got, "WATCHDOG=1") {
			t.Errorf("%v: %q", env, got)
		}
	}
}

func TestWhatElseAServiceSaysIsOneDatagram(t *testing.T) {
	m := manage(t, filepath.Join(t.TempDir(), "notify"), 0)
	if err := sdnotify.Tell(m.getenv, "RELOADING=1", "MONOTONIC_USEC=7"); err != nil {
		t.Fatal(err)
	}
	if got := m.next(t, "RELOADING=1"); !slices.Equal(got, []string{"RELOADING=1", "MONOTONIC_USEC=7"}) {
		t.Errorf("%q", got)
	}
	m.conn.Close()
	if err := sdnotify.Tell(m.getenv, "READY=1"); err == nil {
		t.Error("nobody listens, and it was told")
	}
}

func TestOutsideSystemdNothingHappens(t *testing.T) {
	if err := sdnotify.Tell(func(string) string { return "" }, "READY=1"); err != nil {
		t.Error(err)
	}
	n, err := sdnotify.New(func(string) string { return "" })
	if n != nil || err != nil {
		t.Fatalf("%v, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n.Run(ctx, sdnotify.Service{Ready: func(context.Context) error { t.Error("asked"); return nil }})
}

func TestAnEnvironmentThatCannotWorkIsRefused(t *testing.T) {
	for _, env := range []map[string]string{
		{"NOTIFY_SOCKET": "vsock:2:1234"},
		{"NOTIFY_SOCKET": "/run/systemd/notify", "WATCHDOG_USEC": "30s"},
		{"NOTIFY_SOCKET": "/run/systemd/notify", "WATCHDOG_USEC": "-1"},
		{"NOTIFY_SOCKET": "/run/systemd/notify", "WATCHDOG_USEC": "9223372036854775807"},
	} {
		n, err := sdnotify.New(func(name string) string { return env[name] })
		if n != nil || err == nil || !strings.Contains(err.Error(), "=") {
			t.Errorf("%v: %v", env, err)
		}
	}
	if err := sdnotify.Tell(func(string) string { return "vsock:2:1234" }, "READY=1"); err == nil || !strings.Contains(err.Error(), "NOTIFY_SOCKET=") {
		t.Errorf("told: %v", err)
	}
}

func TestASocketThatIsGoneStopsNothing(t *testing.T) {
	var log bytes.Buffer
	gone := filepath.Join(t.TempDir(), "notify")
	n, err := sdnotify.New(func(name string) string {
		return map[string]string{"NOTIFY_SOCKET": gone, "WATCHDOG_USEC": "2000"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	n.Run(ctx, sdnotify.Service{
		Ready: func(context.Context) error {
			if asked++; asked == 5 {
				cancel()
			}
			return nil
		},
		Alive: func(error) bool { return true },
		Log:   slog.New(slog.NewTextHandler(&log, nil)),
	})
	if asked != 5 || strings.Count(log.String(), "systemd not told") != 1 {
		t.Errorf("asked %d times, logged:\n%s", asked, log.String())
	}
}

// systemd may not take a word when it is said, while it is started anew for one.
// A start that is never told to be over is ended.
func TestWhatCouldNotBeToldIsToldAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	n, err := sdnotify.New(func(v string) string {
		return map[string]string{"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "20000"}[v]
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		n.Run(ctx, sdnotify.Service{
			Ready: func(ctx context.Context) error {
				select {
				case asked <- struct{}{}:
				case <-ctx.Done():
				}
				return nil
			},
			Alive: func(error) bool { return true },
		})
	}()
	defer func() { cancel(); <-done }()
	<-asked
	<-asked // so the first word is lost
	m := manage(t, name, 0)
	go func() {
		for {
			select {
			case <-asked:
			case <-ctx.Done():
				return
			}
		}
	}()
	if got := m.next(t, "READY=1"); !slices.Contains(got, "STATUS=ready") {
		t.Errorf("%q", got)
	}
}

// What a service says of itself must not become another line of the protocol,
// nor half a letter.
func TestStatusIsOneShortLine(t *testing.T) {
	m := manage(t, filepath.Join(t.TempDir(), "notify"), 20*time.Millisecond)
	run(t, m, says(errors.New("a\nREADY=1\r\n"+strings.Repeat("ż", 200))))
	got := m.next(t, "WATCHDOG=1")
	status := got[len(got)-1]
	if len(got) != 3 || !strings.HasPrefix(status, "STATUS=not ready: a READY=1 żż") || len(status) > 300 || !strings.HasSuffix(status, "ż") {
		t.Errorf("%q", got)
	}
}

func TestTheWatchdogIsFedTwiceInItsTimeAtLeast(t *testing.T) {
	for watchdog, want := range map[time.Duration][2]time.Duration{
		0:                      {500 * time.Millisecond, 5 * time.Second},
		30 * time.Second:       {500 * time.Millisecond, 5 * time.Second},
		4 * time.Second:        {500 * time.Millisecond, 2 * time.Second},
		200 * time.Millisecond: {100 * time.Millisecond, 100 * time.Millisecond},
	} {
		if starting, ready := sdnotify.Pauses(watchdog); starting != want[0] || ready != want[1] {
			t.Errorf("%v: %v, then %v", watchdog, starting, ready)
		}
	}
}
