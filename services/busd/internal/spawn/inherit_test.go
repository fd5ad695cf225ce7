package spawn_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/spawn"
)

// beBus is the life of a process that stands for the bus: it starts one
// program, prints its and the spawner's process, and waits to be killed.
func beBus() int {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-17"), 0) // only root may
	events := make(chan spawn.Event, 10)
	s, err := spawn.Open(spawn.Options{Report: func(e spawn.Event) { events <- e }, Log: slog.Default()})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	// What a bus does once its spawner runs must not reach its programs.
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 900, Max: 900})
	if _, err := s.Start(spawn.Request{Argv: []string{"/bin/sleep", "1000"}}); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println((<-events).PID, s.PID())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// startBus runs beBus from a process that ignores, blocks and leaks things.
func startBus(t *testing.T) (bus *exec.Cmd, program, spawner int) {
	t.Helper()
	runtime.LockOSThread() // the mask below is this thread's
	defer runtime.UnlockOSThread()
	var blocked, before unix.Sigset_t
	blocked.Val[0] = 1<<(unix.SIGUSR2-1) | 1<<(unix.SIGTERM-1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &blocked, &before); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()

	leaked, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer leaked.Close()
	bus = exec.Command("/bin/sh", "-c", `trap "" HUP USR1 TSTP TTOU; ulimit -Sn 777; ulimit -Hn 1000; exec "$0"`, os.Args[0])
	bus.Env = append(os.Environ(), "SPAWN_TEST_BUS=1")
	bus.Stderr = os.Stderr
	bus.ExtraFiles = []*os.File{leaked, leaked, leaked}
	in, err := bus.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := bus.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(line, &program, &spawner); err != nil || program == 0 || spawner == 0 {
		t.Fatalf("the bus says %q", line)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(program, syscall.SIGKILL)
		_ = in.Close()
		_ = bus.Process.Kill()
		_ = bus.Wait()
	})
	return bus, program, spawner
}

func TestProgramInheritsNothingOfTheBus(t *testing.T) {
	bus, program, _ := startBus(t)
	status := proc(t, program, "status")
	field := func(name string) string {
		match := regexp.MustCompile(`(?m)^` + name + `:\s*(.*)$`).FindStringSubmatch(status)
		if match == nil {
			t.Fatalf("there is no %s in %s", name, status)
		}
		return match[1]
	}
	for _, mask := range []string{"SigBlk", "SigIgn", "SigCgt"} {
		if strings.Trim(field(mask), "0") != "" {
			t.Errorf("%s is %s, want none", mask, field(mask))
		}
	}
	if got := proc(t, program, "oom_score_adj"); strings.HasPrefix(got, "-") {
		t.Errorf("the program is protected from the out-of-memory killer: %s", got)
	}
	if !regexp.MustCompile(`Max open files +777 +1000`).MatchString(proc(t, program, "limits")) {
		t.Errorf("the limits are %s", proc(t, program, "limits"))
	}
	// pid (comm) state ppid pgrp session
	if stat := strings.Fields(proc(t, program, "stat")); stat[4] != fmt.Sprint(program) || stat[5] != fmt.Sprint(program) {
		t.Errorf("process group %s and session %s are not the program's own, %d", stat[4], stat[5], program)
	}
	if got := proc(t, program, "environ"); got != "" {
		t.Errorf("the environment is %q, want none", got)
	}
	// As it begins it has its libraries open, one after another.
	got := descriptors(t, program)
	for deadline := time.Now().Add(30 * time.Second); len(got) > 3 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		got = descriptors(t, program)
	}
	if !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Errorf("the program has the descriptors %q", got)
	}
	for fd, want := range map[int]string{0: os.DevNull, 1: link(t, bus.Process.Pid, 1), 2: link(t, bus.Process.Pid, 2)} {
		if got := link(t, program, fd); got != want {
			t.Errorf("descriptor %d is %s, want %s", fd, got, want)
		}
	}
}

// What the bus was given without close-on-exec, the spawner closes: a
// listening socket would outlive the bus in it.
func TestSpawnerKeepsNoLeakedDescriptor(t *testing.T) {
	_, _, spawner := startBus(t)
	nulls := 0
	for _, fd := range descriptors(t, spawner) {
		var n int
		if _, err := fmt.Sscan(fd, &n); err == nil && n > 2 && link(t, spawner, n) == os.DevNull {
			nulls++
		}
	}
	if nulls > 1 { // its own
		t.Errorf("the spawner has %d open %s", nulls, os.DevNull)
	}
}

func TestSpawnerEndsWithTheBus(t *testing.T) {
	bus, program, spawner := startBus(t)
	if err := bus.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for running(spawner) {
		if time.Now().After(deadline) {
			t.Fatal("the spawner still runs")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if !running(program) {
		t.Error("the program ended, too")
	}
}

func TestProgramsRunAsTheGivenUser(t *testing.T) {
	if os.Getuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("only root can start programs as another user")
		}
		t.Skip("only root can start programs as another user")
	}
	y := open(t, func(o *spawn.Options) {
		o.Credential = &syscall.Credential{Uid: 65534, Gid: 65533, Groups: []uint32{65532}}
	})
	e := y.running(t)
	for _, pid := range []int{e.PID, y.PID()} {
		status := proc(t, pid, "status")
		for _, want := range []string{"Uid:\t65534\t65534\t65534\t65534\n", "Gid:\t65533\t65533\t65533\t65533\n", "Groups:\t65532 \n", "CapEff:\t0000000000000000\n"} {
			if !strings.Contains(status, want) {
				t.Errorf("process %d has no %q in its status", pid, want)
			}
		}
	}
}

func TestServeByHandIsRefused(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"BUSD_SPAWNER_FD=3"}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "unset it") {
		t.Errorf("it ended with %v and %q", err, out)
	}
}

func descriptors(t *testing.T, pid int) []string {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for i := range links {
		links[i] = filepath.Base(links[i])
	}
	slices.Sort(links)
	return links
}

func link(t *testing.T, pid, fd int) string {
	t.Helper()
	to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// running is false for a zombie as well: its parent may be slow.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
