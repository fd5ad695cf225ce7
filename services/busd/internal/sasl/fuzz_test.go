package sasl_test

import (
	"bytes"
	"slices"
	"testing"

	"quartet/services/busd/internal/sasl"
)

// transcript feeds a client's bytes in pieces of a size, and hands over
// cookies as they are wanted.
func transcript(t *testing.T, in []byte, size int) (answers, stream []byte, done, failed bool, s *sasl.Server) {
	s = sasl.New(user)
	var pending []byte
	for len(in) > 0 {
		n := min(size, len(in))
		pending = append(slices.Clip(pending), in[:n]...)
		in = in[n:]
		for {
			before := len(answers)
			var err error
			pending, answers, done, err = s.Feed(pending, answers)
			if err != nil || done {
				return answers, append(slices.Clip(pending), in...), done, err != nil, s
			}
			if len(answers)-before > 17<<10 {
				t.Fatalf("%d bytes of answers at once", len(answers)-before)
			}
			if !s.NeedsCookie() {
				break
			}
			if answers, err = s.Deliver(cookie, answers); err != nil {
				t.Fatalf("Deliver: %v", err)
			}
		}
		if len(pending) > sasl.MaxLine+1 {
			t.Fatalf("%d bytes are held", len(pending))
		}
	}
	return answers, pending, false, false, s
}

func FuzzTranscript(f *testing.F) {
	for _, c := range clients {
		var whole []byte
		for _, piece := range c.pieces {
			whole = append(whole, piece...)
		}
		f.Add(whole, 7)
	}
	f.Add([]byte("\x00AUTH DBUS_COOKIE_SHA1 636174\r\nDATA "+inHex(respond("5ec7e7", "x"))+"\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\nl"), 3)
	f.Add([]byte("\x00AUTH EXTERNAL\r\nCANCEL\r\nERROR\r\nAUTH\r\n\r\nAUTH ANONYMOUS ff\r\nDATA\r\n"), 1)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		if size < 1 || size > 1<<16 || len(in) > 1<<16 {
			t.Skip()
		}
		before := bytes.Clone(in)
		answers, stream, done, failed, s := transcript(t, in, size)
		if !bytes.Equal(in, before) {
			t.Fatal("Feed wrote to what it was fed")
		}
		if !bytes.HasSuffix(in, stream) {
			t.Fatalf("rest %q is not the end of %q", stream, in)
		}
		for line := range bytes.Lines(answers) {
			checkAnswer(t, line)
		}
		id, fds := s.Result()
		switch {
		case !done && (id != sasl.Identity{} || fds):
			t.Fatalf("Result() = %+v, %t before the end", id, fds)
		case done && id != isUser && id != (sasl.Identity{}): // that of ANONYMOUS
			t.Fatalf("Result() = %+v", id)
		case done && !bytes.HasSuffix(in[:len(in)-len(stream)], []byte("\r\n")):
			t.Fatalf("the stream begins at %q, within a line", stream)
		}
		if failed {
			return // the limit of answers at once depends on the pieces
		}
		again, rest, doneAgain, failedAgain, _ := transcript(t, in, 1)
		if !bytes.Equal(again, answers) || !bytes.Equal(rest, stream) || doneAgain != done || failedAgain {
			t.Fatalf("in pieces of %d: %q, rest %q, done %t\nin single bytes: %q, rest %q, done %t", size, answers, stream, done, again, rest, doneAgain)
		}
	})
}

// checkAnswer says that a line is one that the specification knows.
func checkAnswer(t *testing.T, line []byte) {
	t.Helper()
	text, ended := bytes.CutSuffix(line, []byte("\r\n"))
	known := false
	for _, command := range []string{"DATA", "OK " + guid, "REJECTED EXTERNAL DBUS_COOKIE_SHA1 ANONYMOUS", `ERROR "`, "AGREE_UNIX_FD"} {
		known = known || bytes.HasPrefix(text, []byte(command))
	}
	if !ended || !known || bytes.ContainsAny(text, "\r\x00") {
		t.Fatalf("answer %q", line)
	}
}
