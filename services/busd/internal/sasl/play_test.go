package sasl_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"quartet/services/busd/internal/sasl"
)

const guid = "0123456789abcdef0123456789abcdef"

var (
	all = sasl.Mechanisms{External: true, Anonymous: true, CookieSHA1: true}

	// user is a server that user 1000 runs and connects to, by unix socket.
	user = sasl.Config{
		GUID: guid, Allowed: all, CanPassFDs: true,
		Credentials: sasl.Credentials{UID: 1000, Known: true},
		OwnUID:      1000, OwnName: "cat",
	}

	cookie = sasl.Cookie{Context: "org_freedesktop_general", ID: 7, Secret: "5ec7e7", Challenge: "c0ffee"}
)

func with(change func(c *sasl.Config)) sasl.Config {
	c := user
	change(&c)
	return c
}

func inHex(text string) string { return hex.EncodeToString([]byte(text)) }

// play checks a conversation, line by line: "C: " is fed to the server, and
// the line under it is what must come of that:
//
//	S: text     this answer ("S: ERROR" is one with any explanation)
//	-           none, and the conversation goes on
//	begin       none, and the client is in
//	cookie      none, and a cookie is waited for
//	hang up     an error; "hang up: text" has the answer that goes before it
//
// ${x} stands for x in hexadecimal digits. Where a cookie was waited for,
// "deliver" and "deliver none" hand it over.
func play(t *testing.T, c sasl.Config, script string) *sasl.Server {
	t.Helper()
	s := sasl.New(c)
	feed(t, s, "\x00")
	lines := strings.Split(strings.TrimSpace(fill(script)), "\n")
	for i := 0; i < len(lines); i += 2 {
		said := strings.TrimSpace(lines[i])
		want := strings.TrimSpace(lines[i+1])
		var got string
		switch said {
		case "deliver", "deliver none":
			k := cookie
			if said != "deliver" {
				k = sasl.Cookie{}
			}
			out, err := s.Deliver(k, nil)
			got = outcome(s, out, false, err)
		default:
			line, found := strings.CutPrefix(said, "C:")
			if !found {
				t.Fatalf("script: %q is not a line of the client", said)
			}
			line = strings.TrimPrefix(line, " ")
			rest, out, done, err := s.Feed([]byte(line+"\r\n"), nil)
			if len(rest) != 0 && err == nil {
				t.Fatalf("%s: %q is left over", said, rest)
			}
			got = outcome(s, out, done, err)
		}
		if want == "S: ERROR" && strings.HasPrefix(got, `S: ERROR "`) {
			continue
		}
		if got != want {
			t.Fatalf("%s\n got %s\nwant %s", said, got, want)
		}
	}
	return s
}

func fill(script string) string {
	for {
		before, after, found := strings.Cut(script, "${")
		if !found {
			return script
		}
		text, after, _ := strings.Cut(after, "}")
		script = before + inHex(text) + after
	}
}

func outcome(s *sasl.Server, out []byte, done bool, err error) string {
	answer := strings.TrimSuffix(string(out), "\r\n")
	switch {
	case strings.Contains(answer, "\r\n"):
		return fmt.Sprintf("more than one answer: %q", out)
	case err != nil && answer != "":
		return "hang up: " + answer
	case err != nil:
		return "hang up"
	case done:
		return "begin"
	case answer != "":
		return "S: " + answer
	case s.NeedsCookie():
		return "cookie"
	}
	return "-"
}

func feed(t *testing.T, s *sasl.Server, in string) (rest, answers string, done bool) {
	t.Helper()
	r, out, done, err := s.Feed([]byte(in), nil)
	if err != nil {
		t.Fatalf("Feed(%q): %v", in, err)
	}
	return string(r), string(out), done
}

// respond is what a client that knows the secret answers to the server's
// challenge.
func respond(secret, mine string) string {
	sum := sha1.Sum([]byte(cookie.Challenge + ":" + mine + ":" + secret))
	return mine + " " + hex.EncodeToString(sum[:])
}

func wantIdentity(t *testing.T, s *sasl.Server, want sasl.Identity, wantFDs bool) {
	t.Helper()
	if id, fds := s.Result(); id != want || fds != wantFDs {
		t.Errorf("Result() = %+v, %t, want %+v, %t", id, fds, want, wantFDs)
	}
}

var (
	isUser      = sasl.Identity{UID: 1000, UIDKnown: true}
	everyAnswer = []byte("\r\n")
)

func answersIn(out []byte) int { return bytes.Count(out, everyAnswer) }
