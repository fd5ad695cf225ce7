package upstream

import "quartet/services/botd/internal/said"

// RefusePrivate is the guard's check of one resolved address.
var RefusePrivate = refusePrivate

// Of what comes from Commons: its HTML as text, words as it may search for them.
var (
	Plain      = plain
	Searchable = searchable
	RetryAfter = retryAfter
)

// Of pictures' files: what a WebP claims, how a JPEG's camera was held.
var (
	WebPSize    = webpSize
	Orientation = orientation
	Turned      = turned
)

// The bounds of an answer, and of a breaker.
const (
	AnswerLimit = answerLimit
	MaxPlain    = maxPlain
	MaxWords    = maxWords
	MaxFailures = maxFailures
	Outage      = outage
	MaxHosts    = maxHosts
	MaxSpares   = maxSpares
)

// ReadSearch reads an answer of Commons.
func ReadSearch(body []byte) (address string, credit said.Credit, err error) {
	h, err := readSearch("", body)
	return h.address, h.credit, err
}

// TakeTurn keeps s busy until release is called.
func TakeTurn(t interface{ Fatal(...any) }, s *Shrinker) (release func()) {
	if !s.turn.TryTake(1) {
		t.Fatal("it is busy")
	}
	return func() { s.turn.Give(1) }
}
