package sasl_test

import (
	"errors"
	"strings"
	"testing"

	"quartet/services/busd/internal/sasl"
)

// What client libraries write, in the pieces in which they write it. Each
// piece is answered whole, before the client goes on.
var clients = []struct {
	name   string
	server sasl.Config
	pieces []string // of the client
	want   []string // answers to each piece
	stream string   // what is left behind BEGIN
	id     sasl.Identity
	fds    bool
}{{
	// systemd/systemd sends its Hello in the same call.
	name:   "sd-bus",
	server: user,
	pieces: []string{"\x00AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\nl\x01\x00\x01"},
	want:   []string{"DATA\r\nOK " + guid + "\r\nAGREE_UNIX_FD\r\n"},
	stream: "l\x01\x00\x01", id: isUser, fds: true,
}, {
	name:   "sd-bus, older than 246",
	server: user,
	pieces: []string{"\x00AUTH EXTERNAL 31303030\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"},
	want:   []string{"OK " + guid + "\r\nAGREE_UNIX_FD\r\n"},
	id:     isUser, fds: true,
}, {
	name:   "sd-bus over tcp",
	server: with(func(c *sasl.Config) { c.Credentials.Known, c.CanPassFDs = false, false }),
	pieces: []string{"\x00AUTH ANONYMOUS 616e6f6e796d6f7573\r\nBEGIN\r\nl"},
	want:   []string{"OK " + guid + "\r\n"},
	stream: "l",
}, {
	name:   "godbus",
	server: user,
	pieces: []string{"\x00", "AUTH\r\n", "AUTH EXTERNAL 31303030\r\n", "NEGOTIATE_UNIX_FD\r\n", "BEGIN\r\n"},
	want:   []string{"", list + "\r\n", "OK " + guid + "\r\n", "AGREE_UNIX_FD\r\n", ""},
	id:     isUser, fds: true,
}, {
	name:   "libdbus",
	server: user,
	pieces: []string{"\x00", "AUTH EXTERNAL 31303030\r\n", "NEGOTIATE_UNIX_FD\r\n", "BEGIN\r\nl\x01"},
	want:   []string{"", "OK " + guid + "\r\n", "AGREE_UNIX_FD\r\n", ""},
	stream: "l\x01", id: isUser, fds: true,
}, {
	name:   "GDBus",
	server: user,
	pieces: []string{"\x00", "AUTH\r\n", "AUTH EXTERNAL 31303030\r\n", "NEGOTIATE_UNIX_FD\r\n", "BEGIN\r\n"},
	want:   []string{"", list + "\r\n", "OK " + guid + "\r\n", "AGREE_UNIX_FD\r\n", ""},
	id:     isUser, fds: true,
}, {
	name:   "zbus",
	server: user,
	pieces: []string{"\x00AUTH EXTERNAL 31303030\r\n", "NEGOTIATE_UNIX_FD\r\nBEGIN\r\nl\x01\x04"},
	want:   []string{"OK " + guid + "\r\n", "AGREE_UNIX_FD\r\n"},
	stream: "l\x01\x04", id: isUser, fds: true,
}}

func TestClientsGetIn(t *testing.T) {
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			s := sasl.New(c.server)
			var rest string
			var done bool
			for i, piece := range c.pieces {
				var answers string
				rest, answers, done = feed(t, s, rest+piece)
				if answers != c.want[i] {
					t.Fatalf("%q is answered %q, want %q", piece, answers, c.want[i])
				}
			}
			if rest != c.stream || !done {
				t.Errorf("rest %q, done %t, want %q", rest, done, c.stream)
			}
			wantIdentity(t, s, c.id, c.fds)
		})
	}
}

// However the bytes are cut, the answers and the stream are the same: of
// flatpak/xdg-dbus-proxy#26 (answers counted wrongly when pipelined) and
// z-galaxy/zbus#1760 (Hello lost that came along with BEGIN).
func TestPiecesDoNotMatter(t *testing.T) {
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			whole, answers := strings.Join(c.pieces, ""), strings.Join(c.want, "")
			for size := 1; size <= len(whole); size++ {
				s := sasl.New(c.server)
				var rest, got, stream string
				var done bool
				for at := 0; at < len(whole); at += size {
					piece := whole[at:min(at+size, len(whole))]
					if done {
						stream += piece
						continue
					}
					var out string
					rest, out, done = feed(t, s, rest+piece)
					got += out
				}
				if got != answers || rest+stream != c.stream || !done {
					t.Fatalf("in pieces of %d: answers %q, stream %q, done %t", size, got, rest+stream, done)
				}
				wantIdentity(t, s, c.id, c.fds)
			}
		})
	}
}

func TestAnswersAreAppended(t *testing.T) {
	_, out, _, err := sasl.New(user).Feed([]byte("\x00AUTH\r\n"), []byte("before "))
	if err != nil || string(out) != "before "+list+"\r\n" {
		t.Errorf("answers %q, error %v", out, err)
	}
}

// The cases that the reference implementation has as scripts, by their names.
func TestScriptsOfTheReferenceImplementation(t *testing.T) {
	for _, test := range []struct {
		name   string
		uid    uint32
		known  bool
		script string
	}{
		{"anonymous-server-successful", 1000, true, "C: AUTH ANONYMOUS ${sent at 10:30}\nS: OK " + guid + "\nC: BEGIN\nbegin"},
		{"cancel", 1000, true, "C: AUTH EXTERNAL ${1000}\nS: OK " + guid + "\nC: CANCEL\nS: " + list + "\nC: AUTH EXTERNAL ${1000}\nS: OK " + guid + "\nC: BEGIN\nbegin"},
		{"external-auto", 1000, true, "C: AUTH EXTERNAL\nS: DATA\nC: DATA\nS: OK " + guid + "\nC: BEGIN\nbegin"},
		{"external-failed", 0, false, "C: AUTH EXTERNAL ${1000}\nS: REJECTED DBUS_COOKIE_SHA1 ANONYMOUS"},
		{"external-root", 0, true, "C: AUTH EXTERNAL ${0}\nS: OK " + guid + "\nC: BEGIN\nbegin"},
		{"external-silly", 4312, true, "C: AUTH EXTERNAL ${1000}\nS: " + list},
		{"external-successful", 1000, true, "C: AUTH EXTERNAL ${1000}\nS: OK " + guid + "\nC: BEGIN\nbegin"},
		{"invalid-command", 1000, true, "C: NOPE\nS: ERROR\nC: AUTH NOPE ${1}\nS: " + list + "\nC: NOPE\nS: ERROR\nC: AUTH EXTERNAL ${1000}\nS: OK " + guid + "\nC: NOPE\nS: ERROR\nC: BEGIN\nbegin"},
		{"invalid-hex-encoding", 1000, true, "C: AUTH EXTERNAL 31313!\nS: ERROR\nC: AUTH EXTERNAL ${1000}\nS: OK " + guid},
		{"mechanisms", 1000, true, "C: AUTH\nS: " + list + "\nC: AUTH EXTERNAL ${1000}\nS: OK " + guid},
		{"fail-after-n-attempts", 0, false, strings.Repeat("C: AUTH EXTERNAL ${0}\nS: REJECTED DBUS_COOKIE_SHA1 ANONYMOUS\n", 5) + "C: AUTH EXTERNAL ${0}\nhang up: REJECTED DBUS_COOKIE_SHA1 ANONYMOUS"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := with(func(c *sasl.Config) { c.Credentials = sasl.Credentials{UID: test.uid, Known: test.known} })
			play(t, c, test.script)
		})
	}
	t.Run("extra-bytes", func(t *testing.T) {
		rest, _, done := feed(t, sasl.New(user), "\x00AUTH EXTERNAL 31303030\r\nBEGIN\r\nHello\r\n")
		if rest != "Hello\r\n" || !done {
			t.Errorf("rest %q, done %t", rest, done)
		}
	})
}

// Reports against the reference implementation: a peer that has not said who
// it is ends the server with what it sends.
func TestLineIsLimited(t *testing.T) {
	for name, test := range map[string]struct {
		in string
		ok bool
	}{
		"17 KiB without an end":  {strings.Repeat("A", 17<<10), false},
		"longest, its end open":  {strings.Repeat("A", sasl.MaxLine) + "\r", true},
		"longest, whole":         {strings.Repeat("A", sasl.MaxLine) + "\r\n", true},
		"one more, its end open": {strings.Repeat("A", sasl.MaxLine+1) + "\r", false},
		"one more, whole":        {strings.Repeat("A", sasl.MaxLine+1) + "\r\n", false},
		"second line":            {"NOPE\r\n" + strings.Repeat("A", 17<<10), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, err := sasl.New(user).Feed([]byte("\x00"+test.in), nil)
			if ok := err == nil; ok != test.ok || !ok && !errors.Is(err, sasl.ErrLineTooLong) {
				t.Errorf("error %v, want ok %t", err, test.ok)
			}
		})
	}
}

func TestFloodOfCommandsIsNotAnsweredWhole(t *testing.T) {
	_, out, _, err := sasl.New(user).Feed([]byte("\x00"+strings.Repeat("\r\n", 32<<10)), nil)
	if !errors.Is(err, sasl.ErrManyAnswers) || len(out) > 17<<10 {
		t.Errorf("%d bytes of answers, error %v, want 16 KiB and ErrManyAnswers", len(out), err)
	}
}

func TestNothingIsTakenAfterAnError(t *testing.T) {
	s := sasl.New(user)
	if _, _, _, err := s.Feed([]byte("\x00BEGIN\r\n"), nil); !errors.Is(err, sasl.ErrEarlyBegin) {
		t.Fatalf("error %v, want ErrEarlyBegin", err)
	}
	_, out, done, err := s.Feed([]byte("AUTH EXTERNAL 31303030\r\nBEGIN\r\n"), nil)
	if len(out) != 0 || done || err == nil {
		t.Errorf("answers %q, done %t, error %v", out, done, err)
	}
	wantIdentity(t, s, sasl.Identity{}, false)
}
