package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/wire"
)

func TestABusIsReadyWhenItsAddressIsPrinted(t *testing.T) {
	p := newPlace(t, open)
	b := start(t, nil, "--config-file="+p.config)
	c := dial(t, b.address)
	if want := p.address() + ",guid=" + c.GUID; b.address != want {
		t.Errorf("address %q, want %q", b.address, want)
	}
	b.stop(t)
	if exists(p.socket) {
		t.Error("the socket is still there")
	}
	if said := b.said(); said != "" {
		t.Errorf("it is not quiet:\n%s", said)
	}
}

func TestSIGINTEndsItInOrder(t *testing.T) {
	p := newPlace(t, open)
	b := start(t, nil, "--config-file="+p.config)
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	b.wait(t)
	if b.result != nil || exists(p.socket) {
		t.Errorf("result %v, socket there: %v", b.result, exists(p.socket))
	}
}

func TestTheLastListenIsPrintedFirst(t *testing.T) {
	p := newPlace(t, "<listen>unix:path=DIR/second</listen>"+open)
	b := start(t, nil, "--config-file="+p.config)
	addresses := strings.Split(b.address, ";")
	if len(addresses) != 2 || !strings.HasPrefix(addresses[0], "unix:path="+p.dir+"/second,guid=") || !strings.HasPrefix(addresses[1], p.address()+",guid=") {
		t.Errorf("address %q", b.address)
	}
	for _, each := range addresses {
		dial(t, each)
	}
}

func TestAnAddressReplacesEveryListen(t *testing.T) {
	p := newPlace(t, "<listen>unix:path=DIR/second</listen>"+open)
	b := start(t, nil, "--config-file="+p.config, "--address=unix:path="+p.dir+"/third")
	if !strings.HasPrefix(b.address, "unix:path="+p.dir+"/third,guid=") || exists(p.socket) || exists(p.dir+"/second") {
		t.Errorf("address %q", b.address)
	}
}

// bus1/dbus-broker#183, #344, python-dbusmock#165.
func TestABusNeedsNoConfigurationFile(t *testing.T) {
	p := newPlace(t, "")
	b := start(t, nil, "--standalone", "--address="+p.address())
	if reply, err := dial(t, b.address).RequestName("a.b", 0); err != nil || reply != 1 {
		t.Errorf("RequestName: %d, %v", reply, err)
	}
}

// Another busd could be told of by a pid file, or one that was left behind.
func TestAPIDFileThatExistsIsRefused(t *testing.T) {
	p := newPlace(t, "<pidfile>DIR/pid</pidfile>"+open)
	file := filepath.Join(p.dir, "pid")
	b := start(t, nil, "--config-file="+p.config)
	if text, err := os.ReadFile(file); err != nil || string(text) != fmt.Sprintln(b.cmd.Process.Pid) {
		t.Errorf("pid file %q, %v", text, err)
	}
	code, said := fails(t, nil, "--config-file="+p.config, "--nofork", "--address=unix:path="+p.dir+"/other")
	if code != 1 || !strings.Contains(said, file) {
		t.Errorf("exit code %d, %s", code, said)
	}
	if exists(p.dir + "/other") {
		t.Error("the socket of the one that failed is still there")
	}
	other := start(t, nil, "--config-file="+p.config, "--nopidfile", "--address=unix:path="+p.dir+"/other")
	other.stop(t)
	b.stop(t)
	if exists(file) {
		t.Error("the pid file is still there")
	}
}

// With standard input, output and error closed, which is how some start it.
func TestForkWaitsForTheBusAndLeavesIt(t *testing.T) {
	p := newPlace(t, "<fork/><pidfile>DIR/pid</pidfile>"+open)
	cmd := command("-c", `exec "$@" 8>"$0/address" 9>"$0/printed" 0<&- 1>&- 2>&-`, p.dir, os.Args[0], "--config-file="+p.config, "--print-address=8", "--print-pid=9")
	cmd.Path, cmd.Args[0] = "/bin/sh", "sh"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	address, err := os.ReadFile(p.dir + "/address")
	if err != nil {
		t.Fatal(err)
	}
	printed, err := os.ReadFile(p.dir + "/printed")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(printed)))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGKILL)
	written, err := os.ReadFile(p.dir + "/pid")
	if err != nil || string(written) != string(printed) || pid == cmd.Process.Pid {
		t.Errorf("pid file %q, printed %q, %v", written, printed, err)
	}
	dial(t, strings.TrimSpace(string(address)))
	for _, what := range []string{"cwd", "fd/0", "fd/1", "fd/2"} {
		want := map[bool]string{true: "/", false: os.DevNull}[what == "cwd"]
		if got, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", pid, what)); err != nil || got != want {
			t.Errorf("%s leads to %q, %v", what, got, err)
		}
	}
	if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err != nil || string(comm) != filepath.Base(os.Args[0])+"\n" {
		t.Errorf("it is called %q, %v", comm, err)
	}
	if code, said := fails(t, nil, "--config-file="+p.config, "--address=unix:path="+p.dir+"/other"); code != 1 || !strings.Contains(said, p.dir+"/pid") {
		t.Errorf("a second one: exit code %d, %s", code, said)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "pid file and socket are removed", func() bool { return !exists(p.dir+"/pid") && !exists(p.socket) })
}

// background starts a bus that forks, in its place's folder, and returns its pid.
func background(t *testing.T, p *place) (pid int) {
	t.Helper()
	cmd := command("--config-file="+p.config, "--print-pid=1")
	cmd.Dir = p.dir
	printed, err := cmd.Output()
	if err == nil {
		pid, err = strconv.Atoi(strings.TrimSpace(string(printed)))
	}
	if err != nil {
		t.Fatalf("%v: %q", err, printed)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

// It is in the folder in which the bus was started, and goes with it.
func TestARelativePIDFileIsRemovedFromTheBackground(t *testing.T) {
	p := newPlace(t, "<fork/><pidfile>pid</pidfile>"+open)
	pid := background(t, p)
	if written, err := os.ReadFile(p.dir + "/pid"); err != nil || string(written) != fmt.Sprintln(pid) {
		t.Errorf("pid file %q, printed %d, %v", written, pid, err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pid file is removed", func() bool { return !exists(p.dir + "/pid") })
}

// Otherwise what a bus in the background starts would keep the folder busy in
// which somebody happened to start the bus.
func TestProgramsOfABusInTheBackgroundRunInTheRoot(t *testing.T) {
	p := newPlace(t, "<fork/><servicedir>DIR</servicedir>"+open)
	service := "[D-BUS Service]\nName=a.b\nExec=/bin/sh -c 'pwd >" + p.dir + "/new && mv " + p.dir + "/new " + p.dir + "/where'\n"
	if err := os.WriteFile(filepath.Join(p.dir, "a.b.service"), []byte(service), 0o644); err != nil {
		t.Fatal(err)
	}
	background(t, p)
	c := dial(t, p.address())
	if _, err := c.Send(wire.Header{Type: wire.MethodCall, Flags: wire.NoReplyExpected, Path: "/", Interface: "a.b", Member: "C", Destination: "a.b"}, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program has run", func() bool { return exists(p.dir + "/where") })
	if where, err := os.ReadFile(p.dir + "/where"); err != nil || string(where) != "/\n" {
		t.Errorf("it ran in %q, %v", where, err)
	}
}

func TestInheritedSocketsAreServed(t *testing.T) {
	for _, fork := range []string{"--nofork", "--fork"} {
		p := newPlace(t, "<pidfile>DIR/pid</pidfile>"+open)
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.socket, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		file, err := l.File()
		if err != nil {
			t.Fatal(err)
		}
		cmd := command("-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"`, "sh", os.Args[0], "--config-file="+p.config, "--address=systemd:", fork, "--print-address=1")
		cmd.Path, cmd.Args[0] = "/bin/sh", "sh"
		cmd.ExtraFiles = []*os.File{file}
		b := startCommand(t, nil, cmd)
		file.Close()
		l.Close()
		if !strings.HasPrefix(b.address, p.address()+",guid=") {
			t.Errorf("%s: address %q", fork, b.address)
		}
		dial(t, b.address)
		text, err := os.ReadFile(p.dir + "/pid")
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the pid file is removed", func() bool { return !exists(p.dir + "/pid") })
		if !exists(p.socket) {
			t.Errorf("%s: the manager's socket was removed", fork)
		}
	}
}

// A number gone wrong must not make the process that waits pass on as many.
func TestTooManyInheritedSocketsAreRefused(t *testing.T) {
	p := newPlace(t, open)
	for _, fork := range []string{"--nofork", "--fork"} {
		cmd := command("-c", `LISTEN_PID=$$ LISTEN_FDS=5000 exec "$@"`, "sh", os.Args[0], "--config-file="+p.config, "--address=systemd:", fork)
		cmd.Path, cmd.Args[0] = "/bin/sh", "sh"
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "LISTEN_FDS") {
			t.Errorf("%s: %v, %s", fork, err, out)
		}
	}
}

func TestStartsThatFail(t *testing.T) {
	p := newPlace(t, open)
	for _, tt := range []struct {
		environ []string
		args    []string
		says    string
	}{
		{nil, []string{"--config-file=" + p.dir + "/none"}, p.dir + "/none"},
		{nil, []string{"--config-file=" + p.config, "--address=bogus"}, "bogus"},
		{nil, []string{"--config-file=" + p.config, "--print-address=77"}, "77"},
		{nil, []string{"--config-file=" + p.config, "--fork", "--address=tcp:host=256.256.256.256,port=0"}, "256.256.256.256"},
		{nil, []string{"--unknown"}, "[--systemd-activation]"},
		{nil, nil, "No configuration file specified."},
		{[]string{"BUSD_SEND_TIMEOUTS=3"}, []string{"--config-file=" + p.config}, "BUSD_SEND_TIMEOUTS"},
		{[]string{"BUSD_ADMIN_ADDR=127.0.0.1:0"}, []string{"--config-file=" + p.config}, "busd-telemetry"},
	} {
		code, said := fails(t, tt.environ, tt.args...)
		if code != 1 || !strings.Contains(said, tt.says) {
			t.Errorf("%v %v: exit code %d, %s", tt.environ, tt.args, code, said)
		}
		if exists(p.socket) {
			t.Errorf("%v: the socket is still there", tt.args)
		}
	}
}

// A descriptor that nobody opened for it is perhaps one of the runtime's: to
// write there would be to break the bus itself.
func TestOnlyInheritedDescriptorsArePrintedTo(t *testing.T) {
	p := newPlace(t, open)
	for fd := 3; fd < 12; fd++ {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			continue // whoever runs the test has left it open, to busd too
		}
		for _, option := range []string{"--print-address", "--print-pid"} {
			code, stderr := fails(t, nil, "--config-file="+p.config, "--nofork", fmt.Sprintf("%s=%d", option, fd))
			if code != 1 || !strings.HasSuffix(stderr, fmt.Sprintf("Failed to start message bus: print to descriptor %d: it is not open\n", fd)) {
				t.Errorf("%s=%d: code %d, %s", option, fd, code, stderr)
			}
		}
	}
}

func TestCalledAsDBusDaemonItIsThat(t *testing.T) {
	for _, args := range [][]string{{"check", "/x"}, {"--help"}, {"--unknown"}} {
		cmd := command(args...)
		cmd.Args[0] = "/usr/bin/dbus-daemon"
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 || !strings.HasPrefix(string(out), "dbus-daemon [--version]") {
			t.Errorf("%v: %v, %s", args, err, out)
		}
	}
	for option, says := range map[string]string{"--version": "D-Bus Message Bus Daemon", "--introspect": `<interface name="org.freedesktop.DBus">`} {
		cmd := command(option)
		cmd.Args[0] = "dbus-daemon"
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), says) {
			t.Errorf("%s: %v, %s", option, err, out)
		}
	}
}

// Whoever was to read the log has stopped: the bus goes on, and ends in time.
func TestAStuckLogStopsNobody(t *testing.T) {
	p := newPlace(t, open)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd := command("--config-file="+p.config, "--nofork", "--print-address=1")
	cmd.Stderr = write
	b := startCommand(t, []string{"BUSD_LOG_LEVEL=DEBUG"}, cmd)
	write.Close()
	c := dial(t, b.address)
	c.Timeout = patience
	for range 3000 { // each is a line
		if _, err := c.Call(wire.Header{Path: "/", Interface: "a.b", Member: "C", Destination: "org.freedesktop.DBus"}, nil); err == nil {
			t.Fatal("it has an interface a.b")
		}
		if err := offend(b); err != nil {
			t.Fatal(err)
		}
	}
	b.stop(t)
}

// offend connects and breaks the protocol, which is logged.
func offend(b *running) error {
	path, _, _ := strings.Cut(strings.TrimPrefix(b.address, "unix:path="), ",")
	c, err := net.DialTimeout("unix", path, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err = c.Write([]byte("no"))
	return err
}

func TestNoPortIsOpened(t *testing.T) {
	p := newPlace(t, open)
	b := start(t, nil, "--config-file="+p.config)
	process := fmt.Sprintf("/proc/%d/", b.cmd.Process.Pid)
	fds, err := os.ReadDir(process + "fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := os.ReadFile(process + "net/" + table)
		if os.IsNotExist(err) { // a kernel without IPv6
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			link, _ := os.Readlink(process + "fd/" + fd.Name()) // some are closed meanwhile
			inode, is := strings.CutPrefix(link, "socket:[")
			if is && strings.Contains(string(text), " "+strings.TrimSuffix(inode, "]")+" ") {
				t.Errorf("descriptor %s is a %s socket", fd.Name(), table)
			}
		}
	}
}
