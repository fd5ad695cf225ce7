package bus_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// marked is a descriptor that can be told from others by a number.
func marked(t testing.TB, n int) int {
	t.Helper()
	fd := get(unix.MemfdCreate("marked", unix.MFD_CLOEXEC))(t)
	t.Cleanup(func() { unix.Close(fd) })
	must(t, unix.Ftruncate(fd, int64(n)))
	return fd
}

func mark(t testing.TB, fd int) int {
	t.Helper()
	var s unix.Stat_t
	must(t, unix.Fstat(fd, &s))
	return int(s.Size)
}

// checkFDs checks that a message has the descriptors with these marks.
func checkFDs(t testing.TB, m *client.Message, want ...int) {
	t.Helper()
	var got []int
	for _, fd := range m.FDs {
		got = append(got, mark(t, fd))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s came with %v, want %v", m.Member, got, want)
	}
	m.CloseFDs()
}

func quietly(to, member string) wire.Header {
	h := call(to, member)
	h.Flags = wire.NoReplyExpected
	return h
}

// CVE-2014-3635, CVE-2014-3636: any number up to the limit, even or odd,
// arrives, and one more ends the sender.
func TestNumbersOfDescriptors(t *testing.T) {
	b := start(t, allowAll)
	to := b.dial(client.Options{FDs: true})
	fd := marked(t, 3)
	for n := range 18 {
		from := b.dial(client.Options{FDs: true})
		var fds, want []int
		for range n {
			fds, want = append(fds, fd), append(want, 3)
		}
		_, err := from.Send(quietly(to.Name, "M"), nil, fds...)
		if n > 16 { // the bus may have hung up before all was sent
			must(t, from.AwaitEnd())
			if !strings.Contains(b.log.String(), "max_message_unix_fds is 16") {
				t.Error("nobody is told why")
			}
			continue
		}
		must(t, err)
		checkFDs(t, next(t, to), want...)
		from.Close()
	}
	nothing(t, to)
}

func TestTheKernelsMostDescriptors(t *testing.T) {
	b := start(t, allowAll+`<limit name="max_message_unix_fds">300</limit><limit name="max_outgoing_unix_fds">1000</limit><limit name="max_incoming_unix_fds">1000</limit>`)
	from, to := b.dial(client.Options{FDs: true}), b.dial(client.Options{FDs: true})
	fd := marked(t, 1)
	for _, n := range []int{64, 127, 252, 253} {
		fds := make([]int, n)
		for i := range fds {
			fds[i] = fd
		}
		get(from.Send(quietly(to.Name, "M"), nil, fds...))(t)
		if m := next(t, to); len(m.FDs) != n {
			t.Errorf("%d of %d came", len(m.FDs), n)
		} else {
			m.CloseFDs()
		}
	}
}

// CVE-2014-3533: descriptors of messages that follow each other stay apart,
// in one read and among messages without any.
func TestDescriptorsOfFollowingMessages(t *testing.T) {
	b := start(t, allowAll)
	from, to := b.dial(client.Options{FDs: true}), b.dial(client.Options{FDs: true})
	resume := b.pause()
	for i := 1; i < 60; i += 3 {
		get(from.Send(quietly(to.Name, fmt.Sprint("A", i)), nil, marked(t, i)))(t)
		get(from.Send(quietly(to.Name, fmt.Sprint("B", i)), nil))(t)
		get(from.Send(quietly(to.Name, fmt.Sprint("C", i)), nil, marked(t, i+1), marked(t, i+2)))(t)
	}
	// Two messages whose descriptors come with the first byte of the first.
	two := client.Marshal(wire.Header{Type: wire.MethodCall, Flags: wire.NoReplyExpected, Serial: 1000, Path: "/", Member: "D", Destination: to.Name, UnixFDs: 1}, nil)
	two = append(two, client.Marshal(wire.Header{Type: wire.MethodCall, Flags: wire.NoReplyExpected, Serial: 1001, Path: "/", Member: "E", Destination: to.Name, UnixFDs: 2}, nil)...)
	must(t, from.SendRaw(two, marked(t, 100), marked(t, 101), marked(t, 102)))
	resume()
	for i := 1; i < 60; i += 3 {
		checkFDs(t, next(t, to), i)
		checkFDs(t, next(t, to))
		checkFDs(t, next(t, to), i+1, i+2)
	}
	checkFDs(t, next(t, to), 100)
	checkFDs(t, next(t, to), 101, 102)
}

// Report 6 (dbus-broker#178, #180).
func TestDescriptorsThatWereNotNegotiated(t *testing.T) {
	b := start(t, allowAll)
	c := b.dial()
	_ = c.SendRaw([]byte("l"), marked(t, 1)) // the bus may have hung up in the middle of it
	must(t, c.AwaitEnd())
	c = b.raw()
	_ = c.SendRaw([]byte("\x00AUTH EXTERNAL\r\n"), marked(t, 1))
	must(t, c.AwaitEnd())
	for _, why := range []string{"had not negotiated", "during authentication"} {
		if !strings.Contains(b.log.String(), why) {
			t.Errorf("the log lacks %q", why)
		}
	}
}

// Who has read AGREE_UNIX_FD may send descriptors right behind BEGIN: that the
// bus reads all of it at once is not the client's fault.
func TestDescriptorsRightBehindBegin(t *testing.T) {
	b := start(t, allowAll)
	to := b.dial(client.Options{FDs: true})
	c := b.raw()
	must(t, c.SendRaw([]byte("\x00AUTH EXTERNAL "+hexUID(uid)+"\r\nNEGOTIATE_UNIX_FD\r\n")))
	get(c.ReadLine())(t)
	get(c.ReadLine())(t)
	resume := b.pause()
	must(t, c.SendRaw([]byte("BEGIN\r\n")))
	must(t, c.SendRaw(client.Marshal(hello(1), nil)))
	get(c.Send(quietly(to.Name, "M"), nil, marked(t, 7)))(t)
	resume()
	if m := next(t, c); m.Type != wire.MethodReturn {
		t.Errorf("got %s", describe(m))
	}
	checkFDs(t, next(t, to), 7)
}

func TestFewerDescriptorsThanAnnounced(t *testing.T) {
	b := start(t, allowAll)
	to, c := b.dial(client.Options{FDs: true}), b.dial(client.Options{FDs: true})
	h := quietly(to.Name, "M")
	h.Serial, h.UnixFDs = 9, 2
	_ = c.SendRaw(client.Marshal(h, nil), marked(t, 1))
	must(t, c.AwaitEnd())
	nothing(t, to)
}

// CVE-2014-3637: descriptors without a message do not stay.
func TestPendingDescriptorsTimeOut(t *testing.T) {
	b := start(t, allowAll+`<limit name="pending_fd_timeout">200</limit>`)
	c, other := b.dial(client.Options{FDs: true}), b.dial(client.Options{FDs: true})
	data := client.Marshal(wire.Header{Type: wire.MethodCall, Serial: 9, Path: "/", Member: "M", Destination: other.Name, UnixFDs: 1}, nil)
	must(t, c.SendRaw(data[:20], marked(t, 1)))
	must(t, c.AwaitEnd())
	if !strings.Contains(b.log.String(), "pending_fd_timeout") {
		t.Error("nobody is told why")
	}
	nothing(t, other)
}

// However they come, descriptors without a message do not pile up.
func TestPendingDescriptorsAreBounded(t *testing.T) {
	b := start(t, allowAll)
	c, other := b.dial(client.Options{FDs: true}), b.dial()
	data := client.Marshal(wire.Header{Type: wire.MethodCall, Serial: 9, Path: "/", Member: "M", Destination: other.Name, UnixFDs: 1, Signature: "s"}, word(strings.Repeat("x", 5000)))
	fd, most := marked(t, 1), 0
	many := make([]int, 200)
	for i := range many {
		many[i] = fd
	}
	for i := range 200 {
		if c.SendRaw(data[i:i+1], many...) != nil {
			break
		}
		most = max(most, b.stats().Now.OpenFDs)
	}
	if most > 1000 {
		t.Errorf("%d descriptors wait for a message", most)
	}
	nothing(t, other)
}

// Report 5 (systemd#6603): old versions of sd-bus send a big message's
// descriptors again with each part. The first ones count.
func TestDescriptorsThatAreSentAgain(t *testing.T) {
	b := start(t, allowAll)
	from, to := b.dial(client.Options{FDs: true}), b.dial(client.Options{FDs: true})
	for _, size := range []int{100, 20000, 200000} {
		data := client.Marshal(wire.Header{Type: wire.MethodCall, Flags: wire.NoReplyExpected, Serial: uint32(size), Path: "/", Member: "M", Destination: to.Name, UnixFDs: 1, Signature: "s"}, word(strings.Repeat("x", size)))
		third := len(data) / 3
		must(t, from.SendRaw(data[:third], marked(t, 1)))
		before := b.stats().ReceivedBytes
		must(t, from.SendRaw(data[third:2*third], marked(t, 2)))
		eventually(func() bool { return b.stats().ReceivedBytes > before })
		must(t, from.SendRaw(data[2*third:], marked(t, 3)))
		checkFDs(t, next(t, to), 1)
		get(from.Send(quietly(to.Name, "N"), nil, marked(t, 4)))(t)
		checkFDs(t, next(t, to), 4)
	}
}

// Unicast to one who takes no descriptors is refused; a broadcast reaches the
// others.
func TestDescriptorsForOneWhoTakesNone(t *testing.T) {
	b := start(t, allowAll)
	from, with, without := b.dial(client.Options{FDs: true}), b.dial(client.Options{FDs: true}), b.dial()
	_, err := from.Call(call(without.Name, "M"), nil, marked(t, 1))
	refused(t, err, "NotSupported", "Unix file descriptors")
	for _, c := range []*client.Conn{with, without} {
		must(t, c.AddMatch("interface='com.example.I'"))
	}
	for i, fds := range [][]int{nil, {marked(t, 1)}, nil} {
		h := call("", fmt.Sprint("S", i))
		h.Type = wire.Signal
		get(from.Send(h, nil, fds...))(t)
	}
	settle(t, from)
	for c, want := range map[*client.Conn]string{with: "S0 S1 S2", without: "S0 S2"} {
		var got []string
		for _, m := range settle(t, c) {
			got = append(got, m.Member)
			m.CloseFDs()
		}
		same(t, c.Name, got, strings.Fields(want)...)
	}
}

// Descriptors to many who take one each at the same moment: none is refused
// that keeps up.
func TestDescriptorsOfManyAtOnce(t *testing.T) {
	b := start(t, allowAll)
	to := b.dial(client.Options{FDs: true})
	var all []*client.Conn
	for range 100 {
		all = append(all, b.dial(client.Options{FDs: true}))
	}
	fd := marked(t, 1)
	resume := b.pause()
	for _, c := range all {
		get(c.Send(quietly(to.Name, "M"), nil, fd))(t)
	}
	resume()
	for i := range all {
		m, err := to.Next()
		if err != nil {
			t.Fatalf("%d of %d came: %v; %s", i, len(all), err, describe(next(t, all[99])))
		}
		checkFDs(t, m, 1)
	}
}

// Who does not read leaves descriptors in its socket. There the kernel counts
// them against the bus, and in the end refuses those of everybody. So they are on
// the account of who sent them until they are received, and it is refused more.
func TestUnreadDescriptorsAreOnTheirSendersAccount(t *testing.T) {
	const quota = 20
	b := start(t, allowAll+"<allow_anonymous/>", func(o *busOptions) { o.Quota.FDs = quota })
	from, other := b.dial(client.Options{Anonymous: true, FDs: true}), b.dial(client.Options{FDs: true})
	lazy, to := b.dial(client.Options{FDs: true}), b.dial(client.Options{FDs: true})
	fd := marked(t, 1)
	refused := func(calls int) (n int) {
		for range calls {
			get(from.Send(call(lazy.Name, "M"), nil, fd))(t)
		}
		for _, m := range settle(t, from) {
			if m.ErrorName == "org.freedesktop.DBus.Error.LimitsExceeded" {
				n++
			}
		}
		return n
	}
	if n := refused(quota + 5); n != 5 {
		t.Errorf("%d are refused", n)
	}
	get(other.Send(quietly(to.Name, "M"), nil, fd))(t)
	checkFDs(t, next(t, to), 1)
	for range 2 {
		for range quota {
			checkFDs(t, next(t, lazy), 1)
		}
		if n := refused(quota); n != 0 {
			t.Errorf("all were received, and %d more are refused", n)
		}
	}
	for range quota {
		checkFDs(t, next(t, lazy), 1)
	}
	var left int64
	if !eventually(func() bool { b.Do(func() { _, left = b.Charged(-1) }); return left == 0 }) {
		t.Errorf("%d stay on the account", left)
	}
}

// What is sent to many at once is on the account before any of it is sent.
func TestDescriptorsForManyAreOnOneAccount(t *testing.T) {
	const quota, many = 20, 30
	b := start(t, allowAll+"<allow_anonymous/>", func(o *busOptions) { o.Quota.FDs = quota })
	from := b.dial(client.Options{Anonymous: true, FDs: true})
	fd := marked(t, 1)
	var lazy []*client.Conn
	for range many {
		lazy = append(lazy, b.dial(client.Options{FDs: true}))
	}
	resume := b.pause()
	for _, to := range lazy {
		get(from.Send(quietly(to.Name, "M"), nil, fd))(t)
	}
	resume()
	settle(t, from)
	var charged int64
	b.Do(func() { _, charged = b.Charged(-1) })
	got := 0
	for _, to := range lazy {
		for _, m := range settle(t, to) {
			checkFDs(t, m, 1)
			got++
		}
	}
	if charged != quota || got != quota {
		t.Errorf("%d were sent, %d are on the account, want %d", got, charged, quota)
	}
	if !eventually(func() bool { b.Do(func() { _, charged = b.Charged(-1) }); return charged == 0 }) {
		t.Errorf("all were received, and %d stay on the account", charged)
	}
}

// Who leaves them unread and is disconnected, or reads no more, and keeps its end
// of the socket keeps them in the kernel too.
func TestUnreadDescriptorsOfOneWhoLeaves(t *testing.T) {
	for name, leave := range map[string]func(*client.Conn) error{
		"disconnected":    func(c *client.Conn) error { return c.SendRaw([]byte("this is no message at all")) },
		"reads no more":   func(c *client.Conn) error { return c.Shutdown(unix.SHUT_RD) },
		"writes no more":  func(c *client.Conn) error { return c.Shutdown(unix.SHUT_WR) },
		"does both":       func(c *client.Conn) error { return c.Shutdown(unix.SHUT_RDWR) },
		"closes its side": (*client.Conn).Close,
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, allowAll+"<allow_anonymous/>")
			from, lazy, witness := b.dial(client.Options{Anonymous: true, FDs: true}), b.dial(client.Options{FDs: true}), b.dial()
			fd := marked(t, 1)
			const calls = 5
			for range calls {
				get(from.Send(quietly(lazy.Name, "M"), nil, fd))(t)
			}
			settle(t, from)
			must(t, leave(lazy))
			get(from.Send(quietly(lazy.Name, "M"), nil))(t) // the bus notices by it that it reads no more
			settle(t, from)
			settle(t, witness)
			charged := func() (n int64) {
				b.Do(func() { b.Stats(); _, n = b.Charged(-1) })
				return n
			}
			if name != "closes its side" {
				if n := charged(); n != calls {
					t.Errorf("%d are on the account, want %d", n, calls)
				}
				must(t, lazy.Close())
			}
			if !eventually(func() bool { return charged() == 0 }) {
				t.Errorf("%d stay on the account", charged())
			}
		})
	}
}

// The same of those that had to wait in the bus before.
func TestDescriptorsThatWaitedAreOnTheirSendersAccount(t *testing.T) {
	b := start(t, allowAll+"<allow_anonymous/>")
	from, lazy := b.dial(client.Options{Anonymous: true, FDs: true}), b.dial(client.Options{FDs: true})
	fd, body := marked(t, 1), strings.Repeat("x", 30000)
	filler := 0
	for ; b.stats().Now.WaitingBytes == 0; filler++ {
		h := quietly(lazy.Name, "Filler")
		h.Signature = "s"
		get(from.Send(h, word(body)))(t)
	}
	const calls = 10
	for range calls {
		get(from.Send(quietly(lazy.Name, "M"), nil, fd))(t)
	}
	settle(t, from)
	charged := func() (n int64) {
		b.Do(func() { _, n = b.Charged(-1) })
		return n
	}
	for range filler {
		next(t, lazy)
	}
	if !eventually(func() bool { return b.stats().Now.WaitingBytes == 0 }) {
		t.Fatal("it has been sent all, and some of it still waits")
	}
	if n := charged(); n != calls {
		t.Errorf("%d are on the account, want %d", n, calls)
	}
	for range calls {
		checkFDs(t, next(t, lazy), 1)
	}
	if !eventually(func() bool { return charged() == 0 }) {
		t.Errorf("%d stay on the account", charged())
	}
}

// CVE-2014-3532: a message whose descriptors the kernel does not pass on is
// dropped, and its recipient stays, with all other messages.
func TestDescriptorsThatTheKernelRefuses(t *testing.T) {
	b := start(t, allowAll)
	from, to := b.dial(client.Options{FDs: true}), b.dial(client.Options{FDs: true})
	pair := get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	fd := marked(t, 1)
	resume := b.pause()
	defer resume()
	get(from.Send(quietly(to.Name, "Before"), nil))(t)
	get(from.Send(quietly(to.Name, "With"), nil, fd))(t)
	get(from.Send(quietly(to.Name, "After"), nil))(t)
	// As many in flight as the limit allows, which then is lowered.
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	many := make([]int, 253)
	for i := range many {
		many[i] = fd
	}
	for range 3 {
		must(t, unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(many...), nil, 0))
	}
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 300, Max: old.Max}))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &old)
	// Who has these capabilities may have any number in flight. The bus is
	// paused in the middle of its calls, so this is one more before it reads.
	restore := func() {}
	b.Post(func() { restore = withoutCapabilities(t) })
	defer b.Do(func() { restore() })
	resume()
	for _, want := range []string{"Before", "After"} {
		if m := next(t, to); m.Member != want {
			t.Errorf("got %s, want %s", m.Member, want)
		}
	}
}

// withoutCapabilities drops what lifts limits from this thread.
func withoutCapabilities(t testing.TB) (restore func()) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var old [2]unix.CapUserData
	if err := unix.Capget(&header, &old[0]); err != nil {
		t.Error(err)
		return func() {}
	}
	without := old
	without[0].Effective &^= 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYS_RESOURCE
	if err := unix.Capset(&header, &without[0]); err != nil {
		t.Error(err)
	}
	return func() {
		if err := unix.Capset(&header, &old[0]); err != nil {
			t.Error(err)
		}
	}
}

// Descriptors whose message never comes are bounded for all connections of a
// user together; one connection alone may always have those of a message.
func TestDescriptorsWithoutMessagesAreOnTheirUsersAccount(t *testing.T) {
	const quota = 1000
	b := start(t, allowAll, func(o *busOptions) { o.Quota.FDs = quota })
	fds := make([]int, 253)
	for i := range fds {
		fds[i] = marked(t, 1)
	}
	h := quietly(b.dial().Name, "M")
	h.Serial = 99
	begun := client.Marshal(h, nil)
	for range 6 {
		c := b.dial(client.Options{FDs: true})
		must(t, c.SendRaw(begun[:4], fds...))
		_ = c.SendRaw(begun[4:8], fds...) // it may have been disconnected
		b.Do(func() {})
	}
	if !eventually(func() bool { return strings.Contains(b.log.String(), "BUSD_USER_FDS") }) {
		t.Error("nobody is told")
	}
	if open := b.stats().Now.OpenFDs; open > quota {
		t.Errorf("%d descriptors are held", open)
	}
}
