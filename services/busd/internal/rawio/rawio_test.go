package rawio_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/rawio"
)

// pair is two ends of a connection that do not block.
func pair(t *testing.T) (a, b int) {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		rawio.Close(ends[0])
		rawio.Close(ends[1])
	})
	return ends[0], ends[1]
}

// file is an open descriptor, which is the caller's.
func file(t *testing.T) int {
	t.Helper()
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

func TestPiecesArriveAsOneStream(t *testing.T) {
	for _, n := range []int{1, 2, rawio.MaxPieces, rawio.MaxPieces + 1} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			a, b := pair(t)
			var pieces []rawio.Piece
			var all []byte
			for i := range n {
				piece := fmt.Appendf(nil, "%d,", i)
				pieces = append(pieces, piece)
				if i < rawio.MaxPieces { // what is beyond is the next call's
					all = append(all, piece...)
				}
			}
			var buffers rawio.Buffers
			if sent, err := buffers.Send(a, pieces, nil); err != nil || sent != len(all) {
				t.Fatalf("sent %d bytes (%v), want %d", sent, err, len(all))
			}
			room := make([]byte, 4096)
			got, err := buffers.Receive(b, room)
			if err != nil || !bytes.Equal(room[:got.N], all) {
				t.Errorf("received %q (%v), want %q", room[:got.N], err, all)
			}
		})
	}
}

func TestReceiveDoesNotWaitAndTellsTheEnd(t *testing.T) {
	a, b := pair(t)
	var buffers rawio.Buffers
	if _, err := buffers.Receive(b, make([]byte, 8)); err != rawio.ErrAgain {
		t.Errorf("with nothing there: %v, want %v", err, rawio.ErrAgain)
	}
	if err := unix.Shutdown(a, unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	if got, err := buffers.Receive(b, make([]byte, 8)); err != nil || got.N != 0 {
		t.Errorf("at the end of the stream: %+v (%v), want 0 bytes", got, err)
	}
}

func TestSendTakesWhatFitsAndThenNothing(t *testing.T) {
	a, _ := pair(t)
	var buffers rawio.Buffers
	chunk := make([]byte, 64<<10)
	for range 1000 {
		if _, err := buffers.Send(a, []rawio.Piece{chunk, chunk}, nil); err != nil {
			if err != rawio.ErrAgain {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("a socket that nobody reads took 125 MiB")
}

func TestDescriptorsComeInOrderAndCloseOnExec(t *testing.T) {
	a, b := pair(t)
	var sent []int
	var want []uint64 // inodes
	for i := range rawio.MaxFDs {
		f, err := os.Create(filepath.Join(t.TempDir(), fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var s unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &s); err != nil {
			t.Fatal(err)
		}
		sent, want = append(sent, int(f.Fd())), append(want, s.Ino)
	}
	var buffers rawio.Buffers
	if _, err := buffers.Send(a, []rawio.Piece{[]byte("m")}, sent); err != nil {
		t.Fatal(err)
	}
	got, err := buffers.Receive(b, make([]byte, 8))
	if err != nil || got.N != 1 || got.Truncated || len(got.FDs) != len(sent) {
		t.Fatalf("received %d bytes and %d descriptors, truncated %v (%v)", got.N, len(got.FDs), got.Truncated, err)
	}
	for i, fd := range got.FDs {
		var s unix.Stat_t
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || unix.Fstat(fd, &s) != nil || s.Ino != want[i] || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d: inode %d, want %d; flags %#x (%v)", i, s.Ino, want[i], flags, err)
		}
		rawio.Close(fd)
	}
}

// What a process may not open the kernel takes off the message.
func TestLostDescriptorsAreTold(t *testing.T) {
	a, b := pair(t)
	first, second := file(t), file(t)
	defer rawio.Close(first)
	defer rawio.Close(second)
	var buffers rawio.Buffers
	if _, err := buffers.Send(a, []rawio.Piece{[]byte("m")}, []int{first, second}); err != nil {
		t.Fatal(err)
	}

	next := file(t) // the lowest that is free
	rawio.Close(next)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = uint64(next + 1) // room for one of the two
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	got, err := buffers.Receive(b, make([]byte, 8))
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	for _, fd := range got.FDs {
		rawio.Close(fd)
	}
	if err != nil || got.N != 1 || !got.Truncated || len(got.FDs) != 1 {
		t.Errorf("received %d bytes and %d descriptors, truncated %v (%v), want 1, 1 and true", got.N, len(got.FDs), got.Truncated, err)
	}
}

func TestUnreadIsNothingOnceAllIsRead(t *testing.T) {
	a, b := pair(t)
	var buffers rawio.Buffers
	if _, err := buffers.Send(a, []rawio.Piece{[]byte("some bytes")}, nil); err != nil {
		t.Fatal(err)
	}
	if n, err := rawio.Unread(a); err != nil || n < len("some bytes") {
		t.Errorf("%d bytes are unread (%v), want 10 at least", n, err)
	}
	if _, err := buffers.Receive(b, make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	if n, err := rawio.Unread(a); err != nil || n != 0 {
		t.Errorf("%d bytes are unread (%v), want none", n, err)
	}
}

func TestAcceptedSocketsDoNotBlockAndCloseOnExec(t *testing.T) {
	listener, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rawio.Close(listener)
	at := &unix.SockaddrUnix{Name: filepath.Join(t.TempDir(), "socket")}
	if err := unix.Bind(listener, at); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(listener, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := rawio.Accept(listener); err != rawio.ErrAgain {
		t.Errorf("with nobody there: %v, want %v", err, rawio.ErrAgain)
	}
	client, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rawio.Close(client)
	if err := unix.Connect(client, at); err != nil {
		t.Fatal(err)
	}
	fd, err := rawio.Accept(listener)
	if err != nil {
		t.Fatal(err)
	}
	defer rawio.Close(fd)
	status, err1 := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	flags, err2 := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err1 != nil || err2 != nil || status&unix.O_NONBLOCK == 0 || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("status %#x (%v), flags %#x (%v): want O_NONBLOCK and FD_CLOEXEC", status, err1, flags, err2)
	}
}

func newPoll(t *testing.T) *rawio.Poll {
	t.Helper()
	p, err := rawio.NewPoll()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestWaitReportsASocketUntilItIsRead(t *testing.T) {
	p := newPoll(t)
	a, b := pair(t)
	if err := p.Add(b, rawio.In); err != nil {
		t.Fatal(err)
	}
	var buffers rawio.Buffers
	if _, err := buffers.Send(a, []rawio.Piece{[]byte("m")}, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it has not been read meanwhile
		events, err := p.Wait(time.Minute)
		if err != nil || len(events) != 1 || int(events[0].Fd) != b || events[0].Events != rawio.In {
			t.Fatalf("%+v (%v), want that %d can be read", events, err, b)
		}
	}
	if _, err := buffers.Receive(b, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if events, err := p.Wait(0); err != nil || len(events) != 0 {
		t.Errorf("%+v (%v) after it was read, want nothing", events, err)
	}
	if err := p.Change(b, rawio.In|rawio.Out); err != nil {
		t.Fatal(err)
	}
	if events, err := p.Wait(time.Minute); err != nil || len(events) != 1 || events[0].Events != rawio.Out {
		t.Errorf("%+v (%v), want that it can be written", events, err)
	}
	p.Remove(b)
	if events, err := p.Wait(0); err != nil || len(events) != 0 {
		t.Errorf("%+v (%v) after it was removed, want nothing", events, err)
	}
}

// Within the moment in which the processor is held, at its end, and behind it.
func TestWaitEndsNoEarlierThanItsTimeout(t *testing.T) {
	p := newPoll(t)
	for _, timeout := range []time.Duration{0, time.Microsecond, 3 * time.Millisecond, 5 * time.Millisecond, 12 * time.Millisecond} {
		kept := false
		for try := 0; try < 10 && !kept; try++ { // a signal of Go's scheduler ends one early now and then
			began := time.Now()
			events, err := p.Wait(timeout)
			if err != nil || len(events) != 0 {
				t.Fatalf("Wait(%v): %+v (%v), want nothing", timeout, events, err)
			}
			kept = time.Since(began) >= timeout
		}
		if !kept {
			t.Errorf("Wait(%v) returns before its time", timeout)
		}
	}
}
