package sasl_test

import (
	"strings"
	"testing"

	"quartet/services/busd/internal/sasl"
)

func TestExternalTakesThePeersNumberAlone(t *testing.T) {
	for name, test := range map[string]struct {
		identity string
		taken    bool
	}{
		"its number":              {"1000", true},
		"leading zero":            {"01000", true},
		"another number":          {"1001", false},
		"root":                    {"0", false},
		"a prefix":                {"100", false},
		"more digits":             {"10000", false},
		"a name":                  {"cat", false}, // not since libdbus 1.13.0
		"a Windows identifier":    {"S-1-5-18", false},
		"a sign":                  {"+1000", false},
		"negative":                {"-1", false},
		"spaces":                  {" 1000 ", false},
		"NUL":                     {"1000\x00", false},
		"equal modulo 2^32":       {"4294968296", false},
		"equal modulo 2^64":       {"18446744073709552616", false},
		"as hexadecimal notation": {"0x3e8", false},
	} {
		t.Run(name, func(t *testing.T) {
			answer := list
			if test.taken {
				answer = "OK " + guid
			}
			play(t, user, "C: AUTH EXTERNAL ${"+test.identity+"}\nS: "+answer)
			play(t, user, "C: AUTH EXTERNAL\nS: DATA\nC: DATA ${"+test.identity+"}\nS: "+answer)
		})
	}
}

// z-galaxy/zbus#296: in a user namespace a client does not know the number
// that the server sees.
func TestExternalWithoutIdentityIsWhoTheKernelSays(t *testing.T) {
	s := play(t, user, "C: AUTH EXTERNAL\nS: DATA\nC: DATA\nS: OK "+guid+"\nC: BEGIN\nbegin")
	wantIdentity(t, s, isUser, false)
}

func TestExternalIsNotOfferedWithoutCredentials(t *testing.T) {
	tcp := with(func(c *sasl.Config) { c.Credentials = sasl.Credentials{} })
	play(t, tcp, `
		C: AUTH EXTERNAL ${0}
		S: REJECTED DBUS_COOKIE_SHA1 ANONYMOUS
		C: AUTH EXTERNAL
		S: REJECTED DBUS_COOKIE_SHA1 ANONYMOUS`)
}

func TestAnonymousKnowsNoUser(t *testing.T) {
	s := play(t, user, "C: AUTH ANONYMOUS ${libdbus 1.14}\nS: OK "+guid+"\nC: BEGIN\nbegin")
	wantIdentity(t, s, sasl.Identity{}, false)
}

func TestAnonymousTraceMayBeMissing(t *testing.T) {
	play(t, user, "C: AUTH ANONYMOUS\nS: OK "+guid)
}

func TestAnonymousTraceIsText(t *testing.T) {
	play(t, user, "C: AUTH ANONYMOUS ff\nS: "+list)
}

const offered = "C: AUTH DBUS_COOKIE_SHA1 ${cat}\ncookie\ndeliver\nS: DATA ${org_freedesktop_general 7 c0ffee}\n"

func TestCookieIsTheServersUser(t *testing.T) {
	other := with(func(c *sasl.Config) { c.Credentials.UID = 0 })
	s := play(t, other, offered+"C: DATA ${"+respond("5ec7e7", "x")+"}\nS: OK "+guid+"\nC: BEGIN\nbegin")
	wantIdentity(t, s, isUser, false)
}

// CVE-2019-12749: a server must not go for the cookies of any user but its
// own, whose directory nobody else can put links into.
func TestCookieOfAnotherUserIsRejected(t *testing.T) {
	for _, identity := range []string{"root", "0", "1001", "Cat", "cat ", "../cat", "\x00"} {
		play(t, user, "C: AUTH DBUS_COOKIE_SHA1 ${"+identity+"}\nS: "+list)
	}
}

func TestCookieIsOfferedToNameAndNumber(t *testing.T) {
	play(t, user, "C: AUTH DBUS_COOKIE_SHA1 ${cat}\ncookie")
	play(t, user, "C: AUTH DBUS_COOKIE_SHA1 ${1000}\ncookie")
	nameless := with(func(c *sasl.Config) { c.OwnName = "" })
	play(t, nameless, "C: AUTH DBUS_COOKIE_SHA1 ${1000}\ncookie")
	play(t, nameless, "C: AUTH DBUS_COOKIE_SHA1 ${cat}\nS: "+list)
}

func TestCookieWithoutIdentityIsAskedForOnce(t *testing.T) {
	play(t, user, "C: AUTH DBUS_COOKIE_SHA1\nS: DATA\nC: DATA\nS: "+list)
}

func TestWrongCookieIsRejected(t *testing.T) {
	right := respond("5ec7e7", "x")
	for name, response := range map[string]string{
		"another secret":     respond("5ec7e8", "x"),
		"no secret":          respond("", "x"),
		"no challenge":       respond("5ec7e7", ""),
		"no space":           strings.ReplaceAll(right, " ", ""),
		"challenge alone":    "x ",
		"other challenge":    "y" + right[1:],
		"digest cut":         right[:len(right)-1],
		"digest in capitals": "x " + strings.ToUpper(right[2:]),
		"more behind digest": right + " ",
	} {
		t.Run(name, func(t *testing.T) {
			play(t, user, offered+"C: DATA ${"+response+"}\nS: "+list)
		})
	}
	play(t, user, offered+"C: DATA\nS: "+list)
}

func TestCookieMissingIsRejected(t *testing.T) {
	play(t, user, "C: AUTH DBUS_COOKIE_SHA1 ${cat}\ncookie\ndeliver none\nS: "+list+"\nC: AUTH EXTERNAL ${1000}\nS: OK "+guid)
}

func TestCookieIsForgottenWithItsExchange(t *testing.T) {
	play(t, user, offered+"C: CANCEL\nS: "+list+"\nC: AUTH DBUS_COOKIE_SHA1 ${"+respond("5ec7e7", "x")+"}\nS: "+list)
}

func TestNothingIsReadWhileACookieIsAwaited(t *testing.T) {
	s := sasl.New(user)
	const behind = "CANCEL\r\nAUTH EXTERNAL 31303030\r\nBEGIN\r\nstream"
	rest, answers, _ := feed(t, s, "\x00AUTH DBUS_COOKIE_SHA1 636174\r\n"+behind)
	if rest != behind || answers != "" || !s.NeedsCookie() {
		t.Fatalf("rest %q, answers %q, NeedsCookie %t", rest, answers, s.NeedsCookie())
	}
	rest, answers, _ = feed(t, s, rest)
	if rest != behind || answers != "" {
		t.Fatalf("fed again: rest %q, answers %q", rest, answers)
	}
	out, err := s.Deliver(cookie, nil)
	if err != nil || s.NeedsCookie() {
		t.Fatalf("Deliver: %v, NeedsCookie %t", err, s.NeedsCookie())
	}
	rest, answers, done := feed(t, s, rest)
	if answersIn(out) != 1 || answersIn([]byte(answers)) != 2 || rest != "stream" || !done {
		t.Errorf("Deliver answers %q, Feed %q, rest %q, done %t", out, answers, rest, done)
	}
}

func TestCookieIsDeliveredOnlyWhereAwaited(t *testing.T) {
	s := sasl.New(user)
	if out, err := s.Deliver(cookie, nil); err == nil || len(out) != 0 {
		t.Errorf("Deliver answers %q, error %v, want an error alone", out, err)
	}
}

func TestCookieThatCannotBeSentIsRefused(t *testing.T) {
	for _, change := range []func(*sasl.Cookie){
		func(c *sasl.Cookie) { c.Context = "" },
		func(c *sasl.Cookie) { c.Context = "a b" },
		func(c *sasl.Cookie) { c.Secret = "" },
		func(c *sasl.Cookie) { c.Challenge = "" },
		func(c *sasl.Cookie) { c.Challenge = "a\nb" },
	} {
		s := sasl.New(user)
		feed(t, s, "\x00AUTH DBUS_COOKIE_SHA1 636174\r\n")
		c := cookie
		change(&c)
		if out, err := s.Deliver(c, nil); err == nil || len(out) != 0 {
			t.Errorf("Deliver(%+v) answers %q, error %v, want an error alone", c, out, err)
		}
	}
}

func TestRejectionsOfCookiesCountToo(t *testing.T) {
	one := "C: AUTH DBUS_COOKIE_SHA1 ${cat}\ncookie\ndeliver none\n"
	play(t, user, strings.Repeat(one+"S: "+list+"\n", sasl.MaxRejections-1)+one+"hang up: "+list)
}
