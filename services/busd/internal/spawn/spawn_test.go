package spawn_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"quartet/services/busd/internal/spawn"
)

func TestMain(m *testing.M) {
	if spawn.Requested() {
		os.Exit(spawn.Serve())
	}
	if os.Getenv("SPAWN_TEST_BUS") != "" {
		os.Exit(beBus())
	}
	os.Exit(m.Run())
}

// yard is a spawner of a test, and what it reports.
type yard struct {
	*spawn.Spawner
	events chan spawn.Event
}

func open(t *testing.T, change ...func(*spawn.Options)) yard {
	t.Helper()
	events := make(chan spawn.Event, 10_000)
	o := spawn.Options{Report: func(e spawn.Event) { events <- e }, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&o)
	}
	s, err := spawn.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return yard{s, events}
}

func (y yard) start(t *testing.T, argv ...string) spawn.ID {
	t.Helper()
	id, err := y.Start(spawn.Request{Argv: argv, Env: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (y yard) next(t *testing.T) spawn.Event {
	t.Helper()
	select {
	case e := <-y.events:
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("no event came")
		panic("not reached")
	}
}

// running starts a program that runs until the test ends.
func (y yard) running(t *testing.T) spawn.Event {
	t.Helper()
	id := y.start(t, "/bin/sleep", "1000")
	e := y.next(t)
	if e.ID != id || e.Kind != spawn.Started || e.PID == 0 {
		t.Fatalf("the event is %+v, want Started of %d", e, id)
	}
	t.Cleanup(func() { _ = syscall.Kill(e.PID, syscall.SIGKILL) })
	return e
}

func proc(t *testing.T, pid int, file string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOutcomes(t *testing.T) {
	plain := t.TempDir() + "/plain"
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	garbage := t.TempDir() + "/garbage"
	if err := os.WriteFile(garbage, []byte("\x7fno program"), 0o700); err != nil {
		t.Fatal(err)
	}
	y := open(t)
	for _, c := range []struct {
		name string
		argv []string
		want spawn.Event
	}{
		{name: "Exits0", argv: []string{"/bin/true"}, want: spawn.Event{Kind: spawn.Exited}},
		{name: "Exits255", argv: []string{"/bin/sh", "-c", "exit 255"}, want: spawn.Event{Kind: spawn.Exited, Status: 255}},
		{name: "IsKilled", argv: []string{"/bin/sh", "-c", "kill -SEGV $$"}, want: spawn.Event{Kind: spawn.Signalled, Signal: syscall.SIGSEGV}},
		{name: "IsMissing", argv: []string{"/no/such/program"}, want: spawn.Event{Kind: spawn.ExecFailed, Errno: syscall.ENOENT}},
		{name: "IsNotSearchedFor", argv: []string{"true"}, want: spawn.Event{Kind: spawn.ExecFailed, Errno: syscall.ENOENT}},
		{name: "IsNotExecutable", argv: []string{plain}, want: spawn.Event{Kind: spawn.ExecFailed, Errno: syscall.EACCES}},
		{name: "IsNoProgram", argv: []string{garbage}, want: spawn.Event{Kind: spawn.ExecFailed, Errno: syscall.ENOEXEC}},
		{name: "HasAnEmptyPath", argv: []string{""}, want: spawn.Event{Kind: spawn.ExecFailed, Errno: syscall.ENOENT}},
		{name: "HasANULByte", argv: []string{"/bin/true", "a\x00b"}, want: spawn.Event{Kind: spawn.ExecFailed, Errno: syscall.EINVAL}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.ID = y.start(t, c.argv...)
			e := y.next(t)
			if c.want.Kind != spawn.ExecFailed {
				if e.Kind != spawn.Started || e.ID != c.want.ID || e.PID == 0 {
					t.Fatalf("the first event is %+v", e)
				}
				c.want.PID = e.PID
				e = y.next(t)
			}
			if e != c.want {
				t.Errorf("the event is %+v, want %+v", e, c.want)
			}
		})
	}
}

func TestRequestWithoutCommandIsRefused(t *testing.T) {
	if _, err := open(t).Start(spawn.Request{}); err == nil {
		t.Error("it was taken")
	}
}

func TestEnvironmentIsExactlyTheRequests(t *testing.T) {
	y := open(t)
	// 1 MiB, and bytes that are no UTF-8.
	env := []string{"A=1", "B=\xff\xfe", "C="}
	for i := range 16 {
		env = append(env, fmt.Sprintf("BIG%d=%s", i, strings.Repeat("x", 64<<10)))
	}
	if _, err := y.Start(spawn.Request{Argv: []string{"/bin/sleep", "1000"}, Env: env}); err != nil {
		t.Fatal(err)
	}
	e := y.next(t)
	if e.Kind != spawn.Started {
		t.Fatalf("the event is %+v", e)
	}
	t.Cleanup(func() { _ = syscall.Kill(e.PID, syscall.SIGKILL) })
	// execve(2) closes files, which is how it is known to have worked, a moment
	// before it lays out the environment.
	var got []string
	for deadline := time.Now().Add(5 * time.Second); len(got) < 2 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		got = strings.Split(strings.TrimSuffix(proc(t, e.PID, "environ"), "\x00"), "\x00")
	}
	if !slices.Equal(got, env) {
		t.Errorf("the environment has %d variables, want %d", len(got), len(env))
	}
}

func TestKillEndsAProgram(t *testing.T) {
	y := open(t)
	first, second := y.running(t), y.running(t)
	for _, id := range []spawn.ID{first.ID, first.ID, 0, 99} { // those that don't run are ignored
		if err := y.Kill(id); err != nil {
			t.Fatal(err)
		}
	}
	want := spawn.Event{ID: first.ID, Kind: spawn.Signalled, PID: first.PID, Signal: syscall.SIGKILL}
	if e := y.next(t); e != want {
		t.Errorf("the event is %+v, want %+v", e, want)
	}
	if err := syscall.Kill(second.PID, 0); err != nil {
		t.Errorf("the other program: %v", err)
	}
}

func TestManyProgramsLeaveNoZombies(t *testing.T) {
	y := open(t)
	const programs = 200
	want := make(map[spawn.ID]int)
	for i := range programs {
		want[y.start(t, "/bin/sh", "-c", fmt.Sprintf("exit %d", i))] = i
	}
	started := make(map[spawn.ID]bool)
	for range 2 * programs {
		switch e := y.next(t); e.Kind {
		case spawn.Started:
			started[e.ID] = true
		case spawn.Exited:
			if !started[e.ID] || want[e.ID] != e.Status {
				t.Errorf("the event is %+v, want status %d", e, want[e.ID])
			}
		default:
			t.Errorf("the event is %+v", e)
		}
	}
	if children := proc(t, y.PID(), fmt.Sprintf("task/%d/children", y.PID())); children != "" {
		t.Errorf("the spawner still has the children %s", children)
	}
}

func TestProgramsDoNotHangOnTheBus(t *testing.T) {
	y := open(t)
	e := y.running(t)
	y.Close()
	y.Close()
	if err := syscall.Kill(e.PID, 0); err != nil {
		t.Errorf("the program ended with the spawner: %v", err)
	}
	if len(y.events) > 0 {
		t.Errorf("after Close there was %+v", <-y.events)
	}
	if _, err := y.Start(spawn.Request{Argv: []string{"/bin/true"}}); !errors.Is(err, spawn.ErrClosed) {
		t.Errorf("Start after Close gave %v", err)
	}
	if err := y.Kill(e.ID); !errors.Is(err, spawn.ErrClosed) {
		t.Errorf("Kill after Close gave %v", err)
	}
}

func TestKilledSpawnerIsReplaced(t *testing.T) {
	log := new(bytes.Buffer)
	y := open(t, func(o *spawn.Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) })
	running := y.running(t)
	first := y.PID()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	e := y.next(t)
	if e.ID != running.ID || e.Kind != spawn.Lost || e.PID != running.PID || e.Err == nil {
		t.Errorf("the event is %+v, want Lost with the PID", e)
	}
	if !strings.Contains(log.String(), "spawner ended") {
		t.Errorf("the log is %q", log)
	}
	if err := syscall.Kill(running.PID, 0); err != nil {
		t.Errorf("the program ended with the spawner: %v", err)
	}
	again := y.running(t)
	if again.ID == running.ID || y.PID() == 0 || y.PID() == first {
		t.Errorf("the new spawner is %d after %d, the new request %d after %d", y.PID(), first, again.ID, running.ID)
	}
}

func TestSpawnerKilledUnderLoadLosesNoRequestSilently(t *testing.T) {
	y := open(t)
	const programs = 300
	waiting := make(map[spawn.ID]bool)
	for i := range programs {
		waiting[y.start(t, "/bin/true")] = true
		if pid := y.PID(); i%100 == 50 && pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	for len(waiting) > 0 {
		e := y.next(t)
		if !waiting[e.ID] {
			t.Fatalf("%+v comes after the end of its request", e)
		}
		if e.Kind != spawn.Started {
			delete(waiting, e.ID)
		}
	}
}

func TestSealedSpawnerIsNotReplaced(t *testing.T) {
	y := open(t)
	y.Seal()
	running := y.running(t)
	if err := syscall.Kill(y.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := y.next(t); e.ID != running.ID || e.Kind != spawn.Lost {
		t.Errorf("the event is %+v", e)
	}
	id := y.start(t, "/bin/true")
	if e := y.next(t); e.ID != id || e.Kind != spawn.Lost || e.PID != 0 || !strings.Contains(e.Err.Error(), "restart the bus") {
		t.Errorf("the event is %+v", e)
	}
}

// hang stops the spawner, which is for the bus as if it waited for a file system
// to execute a program from, and asks for more programs than are taken off its
// hands then. It returns when the spawner is late.
func (y yard) hang(t *testing.T) (programs int) {
	t.Helper()
	if err := syscall.Kill(y.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	big := []string{"BIG=" + strings.Repeat("x", 64<<10)}
	for programs = range 16 {
		if _, err := y.Start(spawn.Request{Argv: []string{"/bin/true"}, Env: big}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(10 * shortly)
	return programs + 1
}

// shortly is for how long these tests wait for the spawner.
const shortly = 20 * time.Millisecond

// Nothing could take its place, and it may come back.
func TestSealedSpawnerIsWaitedFor(t *testing.T) {
	t.Cleanup(spawn.SetSendTimeout(shortly))
	y := open(t)
	y.Seal()
	programs := y.hang(t)
	if err := syscall.Kill(y.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for range 2 * programs {
		if e := y.next(t); e.Kind != spawn.Started && e.Kind != spawn.Exited {
			t.Fatalf("the event is %+v", e)
		}
	}
}

func TestCloseDoesNotWaitForASealedSpawner(t *testing.T) {
	y := open(t)
	y.Seal()
	y.hang(t)
	y.Close()
}

func TestSpawnerThatHangsIsReplaced(t *testing.T) {
	t.Cleanup(spawn.SetSendTimeout(shortly))
	y := open(t)
	for range y.hang(t) {
		for e := y.next(t); e.Kind != spawn.Lost && e.Kind != spawn.Exited; e = y.next(t) {
		}
	}
	y.running(t)
}

func TestSpawnerIgnoresSignals(t *testing.T) {
	y := open(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		if err := syscall.Kill(y.PID(), sig); err != nil {
			t.Fatal(err)
		}
	}
	y.running(t)
}
