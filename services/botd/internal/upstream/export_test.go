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

// The bounds of an answer, and of a breaker.
const (
	AnswerLimit = answerLimit
	MaxPlain    = maxPlain
	MaxWords    = maxWords
	MaxFailures = maxFailures
	Outage      = outage
)

// ReadSearch reads an answer of Commons.
func ReadSearch(body []byte) (address string, credit said.Credit, err error) {
	h, err := readSearch("", body)
	return h.address, h.credit, err
}
