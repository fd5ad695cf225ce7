package transport

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// ErrOutcomeUnknown marks what may have been delivered: it was written and no
// clear answer came. It must not be sent again blindly.
var ErrOutcomeUnknown = errors.New("outcome unknown")

// Class sorts refusals by what can be done about them: see Action.
type Class string

// The classes.
const (
	ClassBug       Class = "bug"        // we asked for something that cannot be
	ClassAccount   Class = "account"    // our account is not there, or no longer registered
	ClassIdentity  Class = "identity"   // the recipient's key has changed
	ClassChat      Class = "chat"       // this chat cannot be written to, and that will not pass
	ClassRateLimit Class = "rate_limit" // Signal wants us to be slower
	ClassTooLarge  Class = "too_large"  // the attachment is
	ClassTransient Class = "transient"  // the network, or Signal, had a bad moment
	ClassProfile   Class = "profile"    // our account has no profile name yet
	ClassUnknown   Class = "unknown"    // words that we do not know
)

// Classes lists every class, for who counts by class.
func Classes() []Class {
	return []Class{ClassBug, ClassAccount, ClassIdentity, ClassChat, ClassRateLimit, ClassTooLarge, ClassTransient, ClassProfile, ClassUnknown}
}

// An Error is an answer by which the server refused a call.
type Error struct {
	Class      Class
	Code       int           // HTTP status, or the code of JSON-RPC
	Text       string        // the server's words, whole; they may name people
	RetryAfter time.Duration // the longest wait that Signal asked for; 0 when it did not say
	Challenges []string      // tokens of captchas that lift a rate limit; a person has to solve them
	Failed     []Failure     // recipients that did not get it, when the server told
	Reached    int           // recipients that got it all the same
}

// Error is fit for a log: what may be a phone number, a person's uuid or a
// group's id is taken out of the server's words, and the words are cut short.
func (e *Error) Error() string {
	return fmt.Sprintf("refused (%s, code %d): %s", e.Class, e.Code, masked(e.Text))
}

// Action is what is to be done about it.
func (e *Error) Action() Action { return e.Class.Action() }

// Is makes a refusal ErrOutcomeUnknown as well when the message may have
// arrived in spite of it.
func (e *Error) Is(target error) bool {
	return target == ErrOutcomeUnknown && (e.Reached > 0 || e.Action().MayHaveArrived)
}

// maxWords is how much of a server's words goes into a log, in bytes, and
// readWords how much is looked at for that.
const (
	maxWords  = 200
	readWords = 4096
)

// names are what Signal calls people and groups by: uuids, the base64 of 32
// bytes, and numbers, of which a part is one too.
var names = regexp.MustCompile(`(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})|[0-9A-Za-z+/_-]{40,}=*|[0-9]{7,}`)

// titles are how signal-cli speaks of groups: by their title.
var titles = regexp.MustCompile(`(?i)(\bin group:? )[^():\n]+`)

// masked takes names out, and then cuts what is long.
func masked(text string) string {
	text = titles.ReplaceAllString(text[:min(len(text), readWords)], "$1…")
	text = names.ReplaceAllString(text, "…")
	return strings.ToValidUTF8(text[:min(len(text), maxWords)], "")
}
