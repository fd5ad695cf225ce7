package load

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stream is a connection whose other end is ours to write.
func stream(t *testing.T, buffer int) (c *conn, other int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	c = &conn{fd: fds[0], buf: make([]byte, buffer)}
	t.Cleanup(func() { c.close(); unix.Close(fds[1]) })
	return c, fds[1]
}

func put(t *testing.T, fd int, b []byte) {
	t.Helper()
	if n, err := unix.Write(fd, b); err != nil || n != len(b) {
		t.Fatal(n, err)
	}
}

func TestAMessageIsReadAsItWasWritten(t *testing.T) {
	body := text(100)
	sent := message{kind: typeCall, path: "/a", iface: "b.c", member: "D", destination: ":1.2", signature: "s", replies: true, fds: 3, body: body}.bytes()
	setSerial(sent, 77)
	setReplySerial(sent, 78)
	for _, step := range []int{1, 7, 16, len(sent)} { // however it is cut
		c, other := stream(t, 4096)
		for rest := sent; len(rest) > 0; {
			n := min(step, len(rest))
			put(t, other, rest[:n])
			rest = rest[n:]
			if err := c.fill(); err != nil {
				t.Fatal(err)
			}
			f, ok, err := c.take()
			if err != nil || ok != (len(rest) == 0) {
				t.Fatalf("with %d bytes to come: message %v, error %v", len(rest), ok, err)
			}
			if !ok {
				continue
			}
			for code, want := range map[byte]string{fieldPath: "/a", fieldInterface: "b.c", fieldMember: "D", fieldDestination: ":1.2",
				fieldSignature: "s", fieldFDs: "\x03\x00\x00\x00", fieldSender: "", fieldError: ""} {
				if got := string(f.field(code)); got != want {
					t.Errorf("field %d is %q, want %q", code, got, want)
				}
			}
			if f.serial() != 77 || f.replySerial() != 78 || f.kind() != typeCall || !bytes.Equal(f.bodyBytes(), body) {
				t.Errorf("read %+v", f)
			}
		}
	}
}

func TestOfALongMessageOnlyTheHeaderIsKept(t *testing.T) {
	body := text(100_000)
	long, short := tick(body).bytes(), tick(text(3)).bytes()
	c, other := stream(t, 512)
	written := make(chan error, 1)
	go func() {
		_, err := unix.Write(other, append(append(bytes.Clone(long), short...), long...))
		written <- err
	}()
	for i, want := range []int{len(body), 8, len(body)} {
		f, err := c.next()
		if err != nil {
			t.Fatal(err)
		}
		if f.bodySize() != want || string(f.field(fieldMember)) != "Tick" {
			t.Errorf("message %d has a body of %d bytes, want %d", i, f.bodySize(), want)
		}
		if err := sameBody(body)(f); (err == nil) != (want == len(body)) {
			t.Errorf("message %d: %v", i, err)
		}
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func TestASubscriberSeesWhatIsLostDoubledOrChanged(t *testing.T) {
	body := text(payload)
	signal := func(serial uint32, body []byte) frame {
		b := tick(body).bytes()
		setSerial(b, serial)
		return frame{raw: b, body: len(b) - len(body), size: len(b)}
	}
	other := bytes.Clone(body)
	other[10]++
	for name, second := range map[string]frame{"lost": signal(3, body), "doubled": signal(1, body), "changed": signal(2, other)} {
		e := &expectation{serial: 1, body: body}
		if due, err := e.seen(signal(1, body)); !due || err != nil {
			t.Fatal(due, err)
		}
		if _, err := e.seen(second); err == nil {
			t.Errorf("%s: nothing is noticed", name)
		}
	}
}

func TestForeignBytesEndARun(t *testing.T) {
	for _, b := range []string{"B\x01\x00\x01", "x", "l\x01\x00\x02", "l\x01\x00\x01\xff\xff\xff\xff"} {
		c, other := stream(t, 512)
		put(t, other, []byte(b+strings.Repeat("\x00", 16)))
		if _, err := c.next(); !errors.Is(err, errForeign) {
			t.Errorf("%q: %v", b, err)
		}
	}
}

func TestDescriptorsAreCountedAndClosed(t *testing.T) {
	c, other := stream(t, 512)
	c.control = make([]byte, unix.CmsgSpace(4*16))
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	before := openFiles(t)
	for range 3 {
		if err := unix.Sendmsg(other, tick(text(3)).bytes(), unix.UnixRights(int(null.Fd())), nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := c.next(); err != nil {
			t.Fatal(err)
		}
	}
	if c.fds != 3 || openFiles(t) != before {
		t.Errorf("%d descriptors came, %d files are open, %d were", c.fds, openFiles(t), before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestAnAddressLeadsToItsSocket(t *testing.T) {
	for address, want := range map[string]string{
		"unix:path=/a/b,guid=01": "/a/b", "unix:guid=01,path=/a": "/a", "unix:abstract=x": "@x", "tcp:host=a;unix:path=/b": "/b",
	} {
		if got, err := socketPath(address); got != want || err != nil {
			t.Errorf("%s leads to %q, %v", address, got, err)
		}
	}
	if _, err := socketPath("tcp:host=a,port=1"); err == nil {
		t.Error("tcp is taken")
	}
}
