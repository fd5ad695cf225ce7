// Package sasl is the server's side of D-Bus authentication: a state machine
// that is fed what a client sends and appends what to answer.
//
// It follows the chapter "Authentication Protocol" of the D-Bus
// specification. Every command is answered, in order, however many arrive at
// once, and not a byte behind BEGIN is touched: those belong to the message
// stream. It knows the mechanisms EXTERNAL, DBUS_COOKIE_SHA1 and ANONYMOUS.
//
// It reads no clock, no file and no socket. Cookies come from outside, while
// the machine waits (see [Server.NeedsCookie]); file descriptors that arrive
// during authentication and the time it may take are the caller's concern.
//
//	sasl.go       the exported machine: lines in, answers out
//	command.go    which command is taken in which state
//	mechanism.go  what the three mechanisms make of their data
package sasl

import (
	"bytes"
	"errors"
)

const (
	// MaxLine is the longest line a client may send, in bytes without its
	// CRLF. The specification sets no limit; both C implementations use this.
	MaxLine = 16 << 10

	// MaxRejections is how often a client is told REJECTED: the last one is
	// sent, and then the connection is closed.
	MaxRejections = 6

	// maxAnswers bounds, in bytes, what one Feed may answer: a line of two
	// bytes is answered with thirty, and a peer that floods its server with
	// nonsense is not to make it hold fifteen times as much.
	maxAnswers = 16 << 10
)

// Why a connection is to be closed. The answers that Feed returned beside the
// error are sent first.
var (
	ErrNoNUL        = errors.New("authentication does not start with a NUL byte")
	ErrLineTooLong  = errors.New("authentication line is longer than 16 KiB")
	ErrEarlyBegin   = errors.New("BEGIN before authentication succeeded")
	ErrRejected     = errors.New("authentication was rejected 6 times")
	ErrManyAnswers  = errors.New("more authentication commands at once than their answers may fill")
	errAfterTheEnd  = errors.New("sasl: fed after authentication has ended")
	errNoCookieDue  = errors.New("sasl: a cookie is delivered that nothing waits for")
	errCookieFormat = errors.New("sasl: a cookie's context, secret and challenge must be without spaces, and not empty")
)

// Names of the mechanisms, as they go over the wire.
const (
	External   = "EXTERNAL"
	CookieSHA1 = "DBUS_COOKIE_SHA1"
	Anonymous  = "ANONYMOUS"
)

// Mechanisms says which mechanisms a server offers.
type Mechanisms struct {
	External, Anonymous, CookieSHA1 bool
}

// Credentials are what the kernel says of a connection's other end.
type Credentials struct {
	UID   uint32
	Known bool // false for transports that tell nothing, such as tcp
}

// Config is what a server brings to one conversation.
type Config struct {
	// GUID is the server's: 32 hexadecimal digits, sent with OK.
	GUID string

	// Allowed are the mechanisms to offer. EXTERNAL is never offered where
	// Credentials are not known: it could not succeed.
	Allowed Mechanisms

	// CanPassFDs says whether the transport can carry file descriptors.
	CanPassFDs bool

	Credentials Credentials

	// OwnUID and OwnName are the user the server runs as. It is the only one
	// that DBUS_COOKIE_SHA1 authenticates (CVE-2019-12749). Clients name it
	// either way; with OwnName empty only the number is taken.
	OwnUID  uint32
	OwnName string
}

// Identity is who a client has proved to be.
type Identity struct {
	UID      uint32
	UIDKnown bool // false with ANONYMOUS
}

// Cookie is what DBUS_COOKIE_SHA1 challenges a client with.
type Cookie struct {
	Context   string // name of the file in the client's ~/.dbus-keyrings
	ID        uint32 // of the cookie in that file
	Secret    string // the cookie itself, as the file has it
	Challenge string // random, new for each conversation; without spaces
}

// Server is one conversation. The zero Server is of no use: see [New].
type Server struct {
	config     Config
	state      state
	mechanism  string // of the running or finished exchange
	cookie     Cookie // what DBUS_COOKIE_SHA1 challenged with
	rejections int
	started    bool // the NUL byte was read
	asked      bool // the running exchange asked for an identity already
	fds        bool
}

type state uint8

const (
	waitingForAuth state = iota
	waitingForData
	waitingForCookie // the specification knows no such state: no command is read in it
	waitingForBegin
	authenticated
	broken
)

// New starts a conversation.
func New(c Config) *Server {
	if !c.Credentials.Known {
		c.Allowed.External = false
	}
	return &Server{config: c}
}

// Feed takes what has arrived: in starts where the rest of the last call
// started. It consumes whole lines and appends their answers to out.
//
// rest is what it did not consume: once done is true the message stream,
// before that an unfinished line, or all that follows while a cookie is
// awaited. An error means that the connection is to be closed once answers
// are sent.
//
// A conversation of EXTERNAL allocates nothing but what out grows by.
func (s *Server) Feed(in, out []byte) (rest, answers []byte, done bool, err error) {
	if s.state >= authenticated {
		return in, out, false, errAfterTheEnd
	}
	if !s.started {
		if len(in) == 0 {
			return in, out, false, nil
		}
		if in[0] != 0 {
			return in, out, false, s.fail(ErrNoNUL)
		}
		s.started = true
		in = in[1:]
	}
	limit := len(out) + maxAnswers
	for s.state < authenticated && s.state != waitingForCookie {
		end := bytes.Index(in, crlf)
		if end > MaxLine || end < 0 && len(in) > MaxLine+1 {
			return in, out, false, s.fail(ErrLineTooLong)
		}
		if end < 0 {
			break
		}
		line := in[:end]
		in = in[end+len(crlf):]
		out, err = s.command(line, out)
		if err != nil {
			return in, out, false, s.fail(err)
		}
		if len(out) > limit {
			return in, out, false, s.fail(ErrManyAnswers)
		}
	}
	return in, out, s.state == authenticated, nil
}

var crlf = []byte("\r\n")

func (s *Server) fail(err error) error {
	s.state = broken
	return err
}

// NeedsCookie says that Feed stopped because DBUS_COOKIE_SHA1 wants a cookie
// of the server's own user. The caller fetches one at its leisure, hands it
// to [Server.Deliver] and goes on to Feed the rest.
func (s *Server) NeedsCookie() bool { return s.state == waitingForCookie }

// Deliver answers a Feed that stopped for a cookie, by appending to out. A
// zero Cookie says that there is none: the client is told REJECTED. As with
// Feed, an error means to close the connection once answers are sent.
func (s *Server) Deliver(c Cookie, out []byte) (answers []byte, err error) {
	if s.state != waitingForCookie {
		return out, errNoCookieDue
	}
	if c == (Cookie{}) {
		out, err = s.reject(out)
	} else {
		out, err = s.challenge(c, out)
	}
	if err != nil {
		s.fail(err)
	}
	return out, err
}

// Result says who the client is and whether it may pass file descriptors.
// It is empty until Feed has said done.
func (s *Server) Result() (id Identity, fds bool) {
	if s.state != authenticated {
		return Identity{}, false
	}
	switch s.mechanism {
	case External:
		id.UID, id.UIDKnown = s.config.Credentials.UID, true
	case CookieSHA1:
		id.UID, id.UIDKnown = s.config.OwnUID, true
	}
	return id, s.fds
}
