package bus_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/address"
	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/busconf"
	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/listen"
	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/sasl"
)

// patience bounds whatever a test waits for.
const patience = 10 * time.Second

var uid = os.Getuid()

const guid = "0123456789abcdef0123456789abcdef"

// allowAll is the policy of a session bus.
const allowAll = `<policy context="default"><allow user="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>`

// systemLike is the policy of a system bus: calls need a rule of the service.
const systemLike = `<policy context="default">
<allow user="*"/><deny own="*"/><deny send_type="method_call"/><allow send_type="signal"/>
<allow send_requested_reply="true" send_type="method_return"/><allow send_requested_reply="true" send_type="error"/>
<allow receive_type="method_call"/><allow receive_type="method_return"/><allow receive_type="error"/><allow receive_type="signal"/>
<allow send_destination="org.freedesktop.DBus"/>
</policy>`

// faultText is what the bus logs of a fault of its own.
const faultText = "fault in the bus"

// A bed is a bus under test.
type bed struct {
	*bus.Bus
	t       testing.TB
	address string
	log     *logged
	listens []string // the addresses of all sockets
	faults  bool     // the bus is made to have faults
}

// An edit changes the options that a bus has otherwise.
type busOptions = bus.Options

type edit func(*busOptions)

// start runs a bus with that configuration inside <busconfig>. When the test
// and its clients have ended, nothing may be left of what they did.
func start(t testing.TB, config string, edits ...edit) *bed {
	t.Helper()
	open := openFiles(t)
	b := &bed{t: t, log: &logged{}}
	o := bus.Options{
		GUID: guid, MachineID: "fedcba9876543210fedcba9876543210", OwnUID: uint32(os.Getuid()),
		BatchMessages: 16, BatchBytes: 16 << 10, SendTimeout: time.Minute,
		Quota: bus.Quota{Bytes: 1 << 30, FDs: 10000},
		Log:   slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, edit := range edits {
		edit(&o)
	}
	path := "unix:path=" + filepath.Join(socketDir(t), "bus")
	settings, extra := parseSettings(t, config)
	var listeners []*listen.Listener
	for _, a := range append([]string{path}, extra...) {
		list := get(address.Parse(a))(t)
		opened := get(listen.OpenFirst(t.Context(), list, listen.Options{}))(t)
		b.listens = append(b.listens, opened[0].Address)
		listeners = append(listeners, opened...)
	}
	b.address = b.listens[0]
	b.Bus = get(bus.New(listeners, settings, o))(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() {
		b.checkIdle()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if !b.faults && strings.Contains(b.log.String(), faultText) {
			t.Error(b.log.String())
		}
		if left := ""; !eventually(func() bool { left = openFiles(t); return left == open }) {
			t.Errorf("open files before:\n%s\nafter:\n%s", open, left)
		}
	})
	return b
}

// socketDir is a folder with a short name, as sockets need one.
func socketDir(t testing.TB) string {
	dir := get(os.MkdirTemp("", "bus"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// parseSettings reads a configuration; the addresses of <listen> besides.
func parseSettings(t testing.TB, config string) (bus.Settings, []string) {
	t.Helper()
	text := "<busconfig>" + config + "<listen>unix:tmpdir=/unused</listen></busconfig>"
	c := get(busconf.Load("test.conf", busconf.Source{
		Read:    func(string) ([]byte, error) { return []byte(text), nil },
		Dir:     func(string) ([]string, error) { return nil, fs.ErrNotExist },
		Missing: func(error) bool { return true },
		Getenv:  func(string) string { return "" },
	}))(t)
	set, _ := policy.Compile(c.Policies, policy.Resolver{
		User:  func(string) (uint32, bool) { return 0, false },
		Group: func(string) (uint32, bool) { return 0, false },
	})
	m := sasl.Mechanisms{External: true, Anonymous: true, CookieSHA1: true}
	return bus.Settings{Limits: c.Limits, Policy: set, Mechanisms: m, AllowAnonymous: c.AllowAnonymous}, c.Listen[:len(c.Listen)-1]
}

// checkIdle waits until all connections are gone and looks what is left.
func (b *bed) checkIdle() {
	b.t.Helper()
	left := ""
	if !eventually(func() bool { b.Do(func() { left = b.Left() }); return left == "" }) {
		b.t.Errorf("the bus is idle, and there are left: %s", left)
	}
}

// stats is what the bus has counted.
func (b *bed) stats() (s bus.Stats) {
	b.Do(func() { s = b.Stats() })
	return s
}

// pause keeps the bus from doing anything until resume is called.
func (b *bed) pause() (resume func()) {
	paused, on := make(chan struct{}), make(chan struct{})
	b.Post(func() { close(paused); <-on })
	<-paused
	return sync.OnceFunc(func() { close(on) })
}

// dial connects a client that says Hello.
func (b *bed) dial(o ...client.Options) *client.Conn {
	b.t.Helper()
	options := client.Options{Timeout: patience}
	if len(o) > 0 {
		options = o[0]
		if options.Timeout == 0 {
			options.Timeout = patience
		}
	}
	c := get(client.Dial(b.address, options))(b.t)
	b.t.Cleanup(func() { c.Close() })
	settle(b.t, c) // NameAcquired is not what tests look for
	return c
}

// raw connects a client that has said nothing.
func (b *bed) raw() *client.Conn {
	b.t.Helper()
	c := get(client.Connect(b.address, patience))(b.t)
	b.t.Cleanup(func() { c.Close() })
	return c
}

// authenticated connects a client that has not said Hello.
func (b *bed) authenticated() *client.Conn {
	b.t.Helper()
	c := b.raw()
	authenticate(b.t, c)
	return c
}

func authenticate(t testing.TB, c *client.Conn) {
	t.Helper()
	must(t, c.SendRaw([]byte("\x00AUTH EXTERNAL "+hexUID(os.Getuid())+"\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n")))
	for _, want := range []string{"OK " + guid, "AGREE_UNIX_FD"} {
		if line := get(c.ReadLine())(t); line != want {
			t.Fatalf("the bus answered %q, want %q", line, want)
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func hexUID(uid int) string { return hex.EncodeToString([]byte(strconv.Itoa(uid))) }

// dialAs connects as another user, which only root can.
func (b *bed) dialAs(uid int) *client.Conn {
	b.t.Helper()
	if os.Getuid() != 0 {
		if os.Getenv("CI") != "" {
			b.t.Fatal("only root can connect as another user")
		}
		b.t.Skip("only root can connect as another user")
	}
	must(b.t, os.Chmod(filepath.Dir(strings.TrimPrefix(b.address, "unix:path=")), 0o755))
	runtime.LockOSThread()
	_, _, errno := syscall.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0))
	if errno != 0 {
		if os.Getenv("CI") != "" {
			b.t.Fatal("this root cannot be another user: ", errno)
		}
		b.t.Skip("this root cannot be another user: ", errno)
	}
	c, err := client.Connect(b.address, patience)
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), 0, ^uintptr(0)); errno != 0 {
		panic(errno)
	}
	runtime.UnlockOSThread()
	must(b.t, err)
	b.t.Cleanup(func() { c.Close() })
	must(b.t, c.SendRaw([]byte("\x00AUTH EXTERNAL "+hexUID(uid)+"\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n")))
	for range 2 {
		get(c.ReadLine())(b.t)
	}
	must(b.t, c.Hello())
	settle(b.t, c)
	return c
}

// get is the value of what must not fail.
func get[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// settle returns everything that has come so far.
func settle(t testing.TB, c *client.Conn) []*client.Message {
	t.Helper()
	return get(c.Settle())(t)
}

// next is the next message that is no signal of the bus itself.
func next(t testing.TB, c *client.Conn) *client.Message {
	t.Helper()
	return get(c.Next())(t)
}

// nothing fails the test when something has come.
func nothing(t testing.TB, c *client.Conn) {
	t.Helper()
	for _, m := range settle(t, c) {
		t.Errorf("%s got %s", c.Name, describe(m))
	}
}

// describe is a message in one line.
func describe(m *client.Message) string {
	s := fmt.Sprintf("type %d from %s", m.Type, m.Sender)
	for _, f := range []string{m.Interface, m.Member, m.ErrorName} {
		if f != "" {
			s += " " + f
		}
	}
	d := m.Values()
	for _, kind := range m.Signature {
		switch kind {
		case 's', 'o':
			s += fmt.Sprintf(" %q", d.String())
		case 'u':
			s += fmt.Sprintf(" %d", d.Uint32())
		default:
			return s
		}
	}
	return s
}

// refused checks that an error is one of D-Bus by that name, of org.freedesktop.DBus.Error,
// with a text that contains what is given.
func refused(t testing.TB, err error, name string, texts ...string) {
	t.Helper()
	e, ok := err.(*client.Error)
	if !ok {
		t.Errorf("error %v, want %s", err, name)
		return
	}
	if e.Name != "org.freedesktop.DBus.Error."+name {
		t.Errorf("error %v, want %s", e, name)
	}
	for _, text := range texts {
		if !strings.Contains(e.Text, text) {
			t.Errorf("the text %q lacks %q", e.Text, text)
		}
	}
}

// eventually polls until ok is true; it may take long on a busy machine.
func eventually(ok func() bool) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if ok() {
			return true
		}
	}
	return ok()
}

// openFiles are the descriptors of this process, without those that Go's
// runtime keeps once it has needed them.
func openFiles(t testing.TB) string {
	pollOnce()
	entries := get(os.ReadDir("/proc/self/fd"))(t)
	var all []string
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.Contains(to, "/proc/") {
			all = append(all, e.Name())
		}
	}
	return fmt.Sprint(len(all))
}

// pollOnce makes the runtime open what it polls with.
var pollOnce = sync.OnceFunc(func() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	r.SetDeadline(time.Now().Add(time.Hour))
	r.Close()
	w.Close()
})

// logged is what the bus has logged.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
