package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"quartet/cmd/quartet/internal/fleet"
)

// The test binary plays the fleet's programs, and a launcher that is killed:
// PLAY names the part.
func TestMain(m *testing.M) {
	switch os.Getenv("PLAY") {
	case "":
		os.Exit(m.Run())
	case "program":
		playProgram()
	case "launcher":
		playLauncher()
	}
}

// playProgram answers 204 on ADDR until SIGTERM, then notes its name in NOTES.
// With STUBBORN it ignores SIGTERM; with DIE it ends when the test says so;
// with REFUSE it says why and ends at once.
func playProgram() {
	name := os.Getenv("NAME")
	if os.Getenv("REFUSE") != "" {
		fmt.Println("a line before")
		fmt.Fprintln(os.Stderr, "bad setting: "+os.Getenv("REFUSE"))
		os.Exit(3)
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	answered := make(chan struct{}, 1000)
	l, err := net.Listen("tcp", os.Getenv("ADDR"))
	if err != nil {
		panic(err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		answered <- struct{}{}
	}))
	if os.Getenv("DIE") != "" {
		<-answered
		die()
	}
	for range term {
		if os.Getenv("STUBBORN") == "" {
			break
		}
	}
	f, err := os.OpenFile(os.Getenv("NOTES"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, name)
	os.Exit(0)
}

// die waits until the test opens the fifo that DIE names.
func die() {
	if _, err := os.Open(os.Getenv("DIE")); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "out of luck")
	os.Exit(7)
}

func playLauncher() {
	f := fleet.New(fleet.Options{Logs: os.Getenv("LOGS"), Healthy: time.Minute, Grace: time.Minute})
	p := program(os.Getenv("LOGS"), "child", os.Getenv("ADDR"))
	if err := f.Start(context.Background(), p); err != nil {
		panic(err)
	}
	fmt.Println("started")
	select {}
}

func TestStopsInReverseOrder(t *testing.T) {
	dir := t.TempDir()
	f := newFleet(t, dir, time.Minute)
	for _, name := range []string{"first", "second", "third"} {
		if err := f.Start(t.Context(), program(dir, name, freeAddr(t))); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Stop(); err != nil {
		t.Error(err)
	}
	if got, want := notes(t, dir), []string{"third", "second", "first"}; !slices.Equal(got, want) {
		t.Errorf("stopped in the order %v, want %v", got, want)
	}
}

func TestProgramThatIgnoresSIGTERMIsKilled(t *testing.T) {
	dir := t.TempDir()
	f := newFleet(t, dir, 50*time.Millisecond)
	p := program(dir, "stubborn", freeAddr(t), "STUBBORN=1")
	if err := f.Start(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := f.Stop(); err == nil || !strings.Contains(err.Error(), "stubborn did not stop within 50ms and was killed") {
		t.Errorf("error %v, want one about the stubborn one", err)
	}
	if got := notes(t, dir); len(got) > 0 {
		t.Errorf("%v ended by itself", got)
	}
}

func TestFailureToStopCleanlyIsAnError(t *testing.T) {
	dir := t.TempDir()
	f := newFleet(t, dir, time.Minute)
	// It cannot write its notes, and panics.
	if err := f.Start(t.Context(), program(dir, "clumsy", freeAddr(t), "NOTES=/nonexistent/notes")); err != nil {
		t.Fatal(err)
	}
	if err := f.Stop(); err == nil || !strings.Contains(err.Error(), "clumsy was asked to stop and ended with exit status 2") {
		t.Errorf("got %v", err)
	}
}

func TestDeathAtTheStartShowsTheLog(t *testing.T) {
	dir := t.TempDir()
	f := newFleet(t, dir, time.Minute)
	err := f.Start(t.Context(), program(dir, "picky", freeAddr(t), "REFUSE=LIMIT"))
	d, ok := errors.AsType[*fleet.Death](err)
	if !ok {
		t.Fatalf("error %v, want a Death", err)
	}
	want := fleet.Death{Name: "picky", Exit: "exit status 3", Log: filepath.Join(dir, "picky.log")}
	if d.Name != want.Name || d.Exit != want.Exit || d.Log != want.Log {
		t.Errorf("got %+v, want %+v", d, want)
	}
	for _, part := range []string{"picky", "exit status 3", "bad setting: LIMIT", want.Log} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message %q does not say %q", err, part)
		}
	}
}

func TestDeathLaterEndsTheWait(t *testing.T) {
	dir := t.TempDir()
	f := newFleet(t, dir, time.Minute)
	trigger := filepath.Join(dir, "trigger")
	if err := syscall.Mkfifo(trigger, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, env := range map[string]string{"doomed": "DIE=" + trigger, "healthy": "X=1"} {
		if err := f.Start(t.Context(), program(dir, name, freeAddr(t), env)); err != nil {
			t.Fatal(err)
		}
	}
	// Opening the fifo for writing lets the doomed one go on, to its end.
	w, err := os.OpenFile(trigger, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	err = f.Wait(t.Context())
	d, ok := errors.AsType[*fleet.Death](err)
	if !ok || d.Name != "doomed" || d.Exit != "exit status 7" || !slices.Equal(d.Tail, []string{"out of luck"}) {
		t.Errorf("got %v (%+v)", err, d)
	}
	if err := f.Stop(); err != nil {
		t.Errorf("the doomed one is told twice: %v", err)
	}
	if got := notes(t, dir); !slices.Equal(got, []string{"healthy"}) {
		t.Errorf("stopped %v, want the healthy one", got)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	f := newFleet(t, t.TempDir(), time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Wait(ctx); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestLongLogIsShortened(t *testing.T) {
	dir := t.TempDir()
	f := fleet.New(fleet.Options{Logs: dir, MaxLog: 100 << 10, Healthy: time.Minute, Grace: time.Minute})
	t.Cleanup(func() { f.Stop() })
	if err := f.Start(t.Context(), program(dir, "chatty", freeAddr(t))); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "chatty.log")
	if err := os.WriteFile(log, []byte(strings.Repeat("a line\n", 100_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Wait(ctx) }()
	eventually(t, func() bool {
		info, err := os.Stat(log)
		return err == nil && info.Size() < 100<<10
	}, "the log is as long as before")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestUnhealthyProgramIsNamedWithItsLog(t *testing.T) {
	dir := t.TempDir()
	f := fleet.New(fleet.Options{Logs: dir, Healthy: 300 * time.Millisecond, Grace: time.Minute})
	t.Cleanup(func() { f.Stop() })
	p := program(dir, "slow", freeAddr(t))
	p.Status = http.StatusOK // it answers 204
	err := f.Start(t.Context(), p)
	if err == nil || !strings.Contains(err.Error(), "slow is not ready") || !strings.Contains(err.Error(), "slow.log") {
		t.Errorf("got %v", err)
	}
}

func TestMissingProgramIsAnError(t *testing.T) {
	f := newFleet(t, t.TempDir(), time.Minute)
	err := f.Start(t.Context(), fleet.Program{Name: "ghost", Path: "/nonexistent/ghost"})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestBusyPortIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	free := fleet.Program{Name: "a", Ports: []fleet.Port{{Addr: freeAddr(t), Use: "x"}}}
	busy := fleet.Program{Name: "b", Ports: []fleet.Port{{Addr: l.Addr().String(), Use: "its page"}}}
	if err := fleet.CheckPorts([]fleet.Program{free}); err != nil {
		t.Errorf("a free port: %v", err)
	}
	err = fleet.CheckPorts([]fleet.Program{free, busy})
	if b, ok := errors.AsType[*fleet.BusyError](err); !ok || b.Program != "b" || b.Port != busy.Ports[0] {
		t.Errorf("got %v", err)
	}
}

func newFleet(t *testing.T, dir string, grace time.Duration) *fleet.Fleet {
	t.Helper()
	f := fleet.New(fleet.Options{Logs: dir, Healthy: time.Minute, Grace: grace})
	t.Cleanup(func() { f.Stop() })
	return f
}

func program(dir, name, addr string, env ...string) fleet.Program {
	return fleet.Program{
		Name: name, Path: os.Args[0],
		Env: slices.Concat(os.Environ(), []string{
			"PLAY=program", "NAME=" + name, "ADDR=" + addr, "NOTES=" + filepath.Join(dir, "notes"),
		}, env),
		Health: "http://" + addr + "/", Status: http.StatusNoContent,
	}
}

func notes(t *testing.T, dir string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "notes"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

// freeAddr is an address that was free a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "127.0.0.1:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func eventually(t *testing.T, ok func() bool, otherwise string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if ok() {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Error(otherwise)
}
