package bus_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/client"
)

// CVE-2020-12049 and report 1: descriptors that get lost because no more may
// be opened end their sender, and nothing leaks.
func TestDescriptorsBeyondTheProcessLimit(t *testing.T) {
	b := start(t, allowAll)
	to := b.dial(client.Options{FDs: true})
	fd := marked(t, 1)
	for range 8 {
		from := b.dial(client.Options{FDs: true})
		resume := b.pause()
		_, _ = from.Send(quietly(to.Name, "M"), nil, fd, fd, fd, fd, fd, fd, fd, fd)
		restore := limitFiles(t, 3)
		resume()
		err := from.AwaitEnd()
		restore()
		must(t, err)
		from.Close()
	}
	nothing(t, to)
	if !strings.Contains(b.log.String(), "LimitNOFILE") {
		t.Error("nobody is told why")
	}
}

// limitFiles lets the process open n more files and no more.
func limitFiles(t testing.TB, n int) (restore func()) {
	t.Helper()
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	// The limit is one of numbers, and free ones below are taken first.
	var taken []int
	top := 0
	for {
		fd := get(unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0))(t)
		taken = append(taken, fd)
		if fd > top+1 && len(taken) > 1 || len(taken) > 1 && isLast(fd) {
			top = fd
			break
		}
		top = fd
	}
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(top + 1), Max: old.Max}))
	for _, fd := range taken[max(0, len(taken)-n):] {
		unix.Close(fd)
	}
	taken = taken[:max(0, len(taken)-n)]
	return func() {
		must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
		for _, fd := range taken {
			unix.Close(fd)
		}
	}
}

// isLast says whether no file with a higher number is open.
func isLast(fd int) bool {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return true
	}
	for _, e := range entries {
		var n int
		if fmt.Sscan(e.Name(), &n); n > fd+1 {
			return false
		}
	}
	return true
}

// Report 1 (dbus-broker#435): when no more files may be opened, nobody is
// accepted; who is there is served, and the others follow once files are free.
func TestAcceptingStopsAtTheProcessLimit(t *testing.T) {
	b := start(t, allowAll)
	c := b.dial()
	resume := b.pause()
	waiting := get(client.Connect(b.address, patience))(t)
	defer waiting.Close()
	restore := limitFiles(t, 0)
	resume()
	for range 20 {
		nothing(t, c)
	}
	if !eventually(func() bool { return b.stats().Shortages > 0 }) {
		t.Error("no shortage was noticed")
	}
	for range 20 {
		nothing(t, c)
	}
	restore()
	authenticate(t, waiting)
	must(t, waiting.Hello())
}

// Who connects again and again takes each descriptor that is freed: that is
// still one shortage, with one timer and one line in the log.
func TestShortageIsToldOnce(t *testing.T) {
	const closed = 8
	b := start(t, allowAll)
	var peers []*client.Conn
	for range closed {
		peers = append(peers, b.dial())
	}
	resume := b.pause()
	for range 4 * closed { // they are taken one after the other
		b.raw()
	}
	began := time.Now()
	defer limitFiles(t, 0)()
	resume()
	for _, p := range peers {
		before := uint64(0)
		if !eventually(func() bool { before = b.stats().Shortages; return before > 0 }) {
			t.Fatal("no shortage was noticed")
		}
		must(t, p.Close()) // which frees two: this process has both ends
		if !eventually(func() bool { return b.stats().Shortages > before }) {
			t.Fatal("those that are freed are not taken")
		}
	}
	b.Do(func() {
		if n, others := b.Timers(), b.Stats().Now.Incomplete; n > others+1 {
			t.Errorf("%d timers, of which %d are of connections", n, others)
		}
	})
	most := 1 + int(time.Since(began)/(10*time.Second))
	if n := strings.Count(b.log.String(), "no connections are accepted"); n > most {
		t.Errorf("%d lines in the log, and %d are enough", n, most)
	}
}
