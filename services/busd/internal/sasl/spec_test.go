package sasl_test

import (
	"errors"
	"strings"
	"testing"

	"quartet/services/busd/internal/sasl"
)

// The tests of this file go through the chapter "Authentication Protocol" of
// the specification, one a sentence that binds a server, in its order.

const list = "REJECTED EXTERNAL DBUS_COOKIE_SHA1 ANONYMOUS"

// "The server must respond to each line with a single-line reply, with one
// exception: there is no reply to the BEGIN command."
func TestEachLineHasOneReplyAndBeginHasNone(t *testing.T) {
	play(t, user, `
		C: AUTH
		S: `+list+`
		C: AUTH EXTERNAL ${1000}
		S: OK `+guid+`
		C: NEGOTIATE_UNIX_FD
		S: AGREE_UNIX_FD
		C: BEGIN
		begin`)
}

// Section "Protocol Overview".

func TestLinesEndWithCRLF(t *testing.T) {
	s := sasl.New(user)
	for _, part := range []string{"\x00AUTH EXTERNAL 31303030", "AUTH EXTERNAL 31303030\n"} {
		rest, answers, _ := feed(t, s, part)
		if want := strings.TrimPrefix(part, "\x00"); rest != want || answers != "" {
			t.Errorf("Feed(%q) leaves %q and answers %q, want all left and no answer", part, rest, answers)
		}
	}
}

func TestCommandsAreCaseSensitive(t *testing.T) {
	play(t, user, `
		C: auth EXTERNAL ${1000}
		S: ERROR
		C: AUTH external ${1000}
		S: `+list)
}

func TestAllBytesAreASCII(t *testing.T) {
	play(t, user, "C: AUTH EXTERNAL \xc3\xa9\nS: ERROR")
}

func TestExtensionCommandsAreAnsweredWithError(t *testing.T) {
	play(t, user, `
		C: EXTENSION_COM_EXAMPLE_PURR loudly
		S: ERROR
		C: AUTH EXTERNAL ${1000}
		S: OK `+guid+`
		C: EXTENSION_COM_EXAMPLE_PURR
		S: ERROR
		C: BEGIN
		begin`)
}

// Section "Special credentials-passing nul byte".

func TestFirstByteMustBeNUL(t *testing.T) {
	for _, in := range []string{"A", "\r\n", "l\x01\x00\x01", " \x00AUTH\r\n"} {
		_, _, _, err := sasl.New(user).Feed([]byte(in), nil)
		if !errors.Is(err, sasl.ErrNoNUL) {
			t.Errorf("Feed(%q): error %v, want ErrNoNUL", in, err)
		}
	}
}

func TestNULMayComeAlone(t *testing.T) {
	s := sasl.New(user)
	feed(t, s, "")
	feed(t, s, "\x00")
	if _, answers, _ := feed(t, s, "AUTH EXTERNAL 31303030\r\n"); answers != "OK "+guid+"\r\n" {
		t.Errorf("answers %q", answers)
	}
}

func TestNULIsNeededOnOtherTransportsToo(t *testing.T) {
	c := with(func(c *sasl.Config) { c.Credentials.Known = false; c.CanPassFDs = false })
	if _, _, _, err := sasl.New(c).Feed([]byte("AUTH\r\n"), nil); !errors.Is(err, sasl.ErrNoNUL) {
		t.Errorf("error %v, want ErrNoNUL", err)
	}
}

func TestLaterNULIsAnError(t *testing.T) {
	play(t, user, "C: \x00AUTH\nS: ERROR\nC: AUTH EXTERNAL\x00\nS: ERROR")
}

// Section "AUTH Command".

func TestAuthWithoutArgumentsListsMechanisms(t *testing.T) {
	play(t, user, "C: AUTH\nS: "+list)
	only := with(func(c *sasl.Config) { c.Allowed = sasl.Mechanisms{External: true} })
	play(t, only, "C: AUTH\nS: REJECTED EXTERNAL")
}

func TestUnsupportedMechanismIsRejectedWithList(t *testing.T) {
	play(t, user, "C: AUTH KERBEROS_V4 00\nS: "+list)
}

func TestMechanismNotAllowedIsRejected(t *testing.T) {
	none := with(func(c *sasl.Config) { c.Allowed = sasl.Mechanisms{} })
	for _, line := range []string{"AUTH EXTERNAL 31303030", "AUTH ANONYMOUS", "AUTH DBUS_COOKIE_SHA1 636174"} {
		play(t, none, "C: "+line+"\nS: REJECTED")
	}
}

func TestInitialResponseCountsAsFirstData(t *testing.T) {
	play(t, user, "C: AUTH EXTERNAL ${1000}\nS: OK "+guid)
	play(t, user, "C: AUTH EXTERNAL\nS: DATA\nC: DATA ${1000}\nS: OK "+guid)
}

func TestOKIsSentAfterDataWasExchanged(t *testing.T) {
	play(t, user, `
		C: AUTH DBUS_COOKIE_SHA1
		S: DATA
		C: DATA ${cat}
		cookie
		deliver
		S: DATA ${org_freedesktop_general 7 c0ffee}
		C: DATA ${`+respond("5ec7e7", "mine")+`}
		S: OK `+guid)
}

// Section "CANCEL Command".

func TestCancelEndsTheExchange(t *testing.T) {
	play(t, user, `
		C: AUTH EXTERNAL
		S: DATA
		C: CANCEL
		S: `+list+`
		C: DATA ${1000}
		S: ERROR`)
}

func TestCancelIsTakenUntilBegin(t *testing.T) {
	s := play(t, user, `
		C: AUTH EXTERNAL ${1000}
		S: OK `+guid+`
		C: NEGOTIATE_UNIX_FD
		S: AGREE_UNIX_FD
		C: CANCEL
		S: `+list+`
		C: BEGIN
		hang up`)
	wantIdentity(t, s, sasl.Identity{}, false)
}

func TestCancelForgetsThatFileDescriptorsWereAgreed(t *testing.T) {
	s := play(t, user, `
		C: AUTH EXTERNAL ${1000}
		S: OK `+guid+`
		C: NEGOTIATE_UNIX_FD
		S: AGREE_UNIX_FD
		C: CANCEL
		S: `+list+`
		C: AUTH EXTERNAL ${1000}
		S: OK `+guid+`
		C: BEGIN
		begin`)
	wantIdentity(t, s, isUser, false)
}

// Section "DATA Command".

func TestDataIsHexOfEitherCase(t *testing.T) {
	play(t, user, "C: AUTH ANONYMOUS ${\xc3\xaf}\nS: OK "+guid)
	play(t, user, "C: AUTH ANONYMOUS C3AF\nS: OK "+guid)
}

func TestDataThatIsNotHexIsAnError(t *testing.T) {
	play(t, user, "C: AUTH EXTERNAL\nS: DATA\nC: DATA 3\nS: ERROR\nC: DATA 3g\nS: ERROR\nC: DATA 31 30\nS: ERROR\nC: DATA ${1000}\nS: OK "+guid)
}

// Section "BEGIN Command".

func TestBytesBehindBeginAreTheStream(t *testing.T) {
	for _, stream := range []string{"", "l", "l\x01\x00\x01\r\nAUTH\r\n", "\r\n", "\x00"} {
		rest, answers, done := feed(t, sasl.New(user), "\x00AUTH EXTERNAL 31303030\r\nBEGIN\r\n"+stream)
		if rest != stream || !done || answers != "OK "+guid+"\r\n" {
			t.Errorf("stream %q: rest %q, done %t, answers %q", stream, rest, done, answers)
		}
	}
}

func TestBeginBeforeOKHangsUp(t *testing.T) {
	play(t, user, "C: BEGIN\nhang up")
	play(t, user, "C: AUTH EXTERNAL\nS: DATA\nC: BEGIN\nhang up")
}

// Section "REJECTED Command".

func TestListIsTheSameEachTime(t *testing.T) {
	play(t, user, `
		C: AUTH
		S: `+list+`
		C: AUTH EXTERNAL ${0}
		S: `+list+`
		C: ERROR
		S: `+list)
}

// Section "OK Command".

func TestOKHasTheGUID(t *testing.T) {
	play(t, user, "C: AUTH EXTERNAL ${1000}\nS: OK "+guid)
}

func TestNoCommandIsTakenAfterBegin(t *testing.T) {
	s := play(t, user, "C: AUTH EXTERNAL ${1000}\nS: OK "+guid+"\nC: BEGIN\nbegin")
	rest, answers, done, err := s.Feed([]byte("CANCEL\r\n"), nil)
	if string(rest) != "CANCEL\r\n" || len(answers) != 0 || done || err == nil {
		t.Errorf("Feed after BEGIN: rest %q, answers %q, done %t, error %v", rest, answers, done, err)
	}
}

// Section "ERROR Command".

func TestErrorFromClientIsRejected(t *testing.T) {
	play(t, user, "C: ERROR\nS: "+list)
	play(t, user, "C: AUTH EXTERNAL\nS: DATA\nC: ERROR \"what?\"\nS: "+list)
	play(t, user, "C: AUTH EXTERNAL ${1000}\nS: OK "+guid+"\nC: ERROR\nS: "+list)
}

func TestCommandAnsweredWithErrorHasNoEffect(t *testing.T) {
	play(t, user, `
		C: AUTH EXTERNAL
		S: DATA
		C: AUTH ANONYMOUS xyz
		S: ERROR
		C: DATA
		S: OK `+guid+`
		C: DATA ${0}
		S: ERROR
		C: BEGIN
		begin`)
	play(t, user, "C: AUTH EXTERNAL xyz\nS: ERROR\nC: DATA\nS: ERROR\nC: AUTH EXTERNAL ${1000}\nS: OK "+guid)
}

// Section "NEGOTIATE_UNIX_FD Command".

func TestFileDescriptorsAreAgreedAfterOK(t *testing.T) {
	s := play(t, user, `
		C: NEGOTIATE_UNIX_FD
		S: ERROR
		C: AUTH EXTERNAL
		S: DATA
		C: NEGOTIATE_UNIX_FD
		S: ERROR
		C: DATA
		S: OK `+guid+`
		C: NEGOTIATE_UNIX_FD
		S: AGREE_UNIX_FD
		C: NEGOTIATE_UNIX_FD
		S: AGREE_UNIX_FD
		C: BEGIN
		begin`)
	wantIdentity(t, s, isUser, true)
}

func TestFileDescriptorsNotPossibleIsAnError(t *testing.T) {
	cannot := with(func(c *sasl.Config) { c.CanPassFDs = false })
	s := play(t, cannot, `
		C: AUTH EXTERNAL ${1000}
		S: OK `+guid+`
		C: NEGOTIATE_UNIX_FD
		S: ERROR
		C: BEGIN
		begin`)
	wantIdentity(t, s, isUser, false)
}

// Section "Future Extensions".

func TestUnknownCommandIsAnErrorInEveryState(t *testing.T) {
	play(t, user, `
		C: FOOBAR
		S: ERROR
		C:
		S: ERROR
		C: AUTH EXTERNAL
		S: DATA
		C: STARTTLS
		S: ERROR
		C: DATA
		S: OK `+guid+`
		C: COMPRESS zstd
		S: ERROR
		C: BEGIN
		begin`)
}

// Section "Server states": what the sections above do not say.

func TestTooManyRejectionsHangUp(t *testing.T) {
	script := strings.Repeat("C: AUTH EXTERNAL ${0}\nS: "+list+"\n", sasl.MaxRejections-1)
	play(t, user, script+"C: AUTH\nhang up: "+list)
}

func TestDataAndCancelBeforeAuthAreErrors(t *testing.T) {
	play(t, user, "C: DATA ${1000}\nS: ERROR\nC: CANCEL\nS: ERROR")
}

func TestAuthDuringAnExchangeIsAnError(t *testing.T) {
	play(t, user, "C: AUTH EXTERNAL\nS: DATA\nC: AUTH EXTERNAL ${1000}\nS: ERROR\nC: DATA\nS: OK "+guid)
}

func TestAuthAndDataAfterOKAreErrors(t *testing.T) {
	play(t, user, "C: AUTH EXTERNAL ${1000}\nS: OK "+guid+"\nC: AUTH ANONYMOUS\nS: ERROR\nC: DATA\nS: ERROR\nC: BEGIN\nbegin")
}
