// Package webhook is the receiving side of signal-cli-rest-api's
// RECEIVE_WEBHOOK_URL: an HTTP handler to which the container posts every
// notification, in order, before it reads the next one.
//
// That makes bursts arrive whole, which over the websocket they do not. But it
// posts each frame once: what is answered by anything other than 200 or 201, or
// not at all, is lost, so a refusal here says why and does not help the sender.
// And while a post is open the container processes nothing, not even the answer
// to a send of ours; so the handler hands the frame to a receiver that returns
// at once (Traits say StandsStill), answers, and never waits for anything else.
//
// Who can post can pretend to be anybody. With a token set, it has to be the
// last element of the path; without one only this machine may post. Where a
// proxy on this machine takes posts from elsewhere, a token is needed.
package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"sync"
	"time"

	"quartet/services/botd/internal/transport"
)

// minToken is how long a token must be, in bytes.
const minToken = 16

// keptBuffer is the largest buffer that is kept for the next post, in bytes.
const keptBuffer = 256 << 10

// Handler takes posts and is the source of the frames in them. It is safe for
// concurrent use.
type Handler struct {
	token    [sha256.Size]byte // digest of the token
	asks     bool              // whether there is one
	missed   func()            // told of each post that came while nobody received
	answered func(took time.Duration)

	turn  chan struct{}      // one slot: frames go one after another
	to    transport.Receiver // owned by who has the turn; nil while nobody receives
	frame func(raw []byte)   // owned likewise; to.Frame, with the link's context
}

var _ transport.Source = (*Handler)(nil)

// New returns a handler. token is "", or letters, digits and -._~ that nobody
// can guess. missed is called for each post that comes while nobody receives:
// its frame is lost. answered is called for each that was handed on, with the
// time from its last byte until its answer was written.
func New(token string, missed func(), answered func(took time.Duration)) (*Handler, error) {
	h := &Handler{missed: missed, answered: answered, turn: make(chan struct{}, 1)}
	if token == "" {
		return h, nil
	}
	if len(token) < minToken {
		return nil, fmt.Errorf("the webhook's token must have at least %d characters", minToken)
	}
	if strings.ContainsFunc(token, reserved) {
		return nil, errors.New("the webhook's token may have only letters, digits and -._~")
	}
	h.token, h.asks = sha256.Sum256([]byte(token)), true
	return h, nil
}

// reserved reports whether r cannot stand in a path as it is.
func reserved(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~", r))
}

// Traits say that the container waits for each post, and that silence means
// nothing: it posts when there is something to post.
func (h *Handler) Traits() transport.Traits { return transport.Traits{StandsStill: true} }

// Receive hands on what is posted until ctx ends.
func (h *Handler) Receive(ctx context.Context, to transport.Receiver) error {
	h.turn <- struct{}{}
	if h.to != nil {
		<-h.turn
		return errors.New("receive: somebody receives already")
	}
	link, end := context.WithCancel(context.WithoutCancel(ctx)) // a post's own would end with its answer
	defer end()
	h.to, h.frame = to, func(raw []byte) { to.Frame(link, raw) }
	to.Open()
	<-h.turn
	<-ctx.Done()
	h.turn <- struct{}{}
	h.to, h.frame = nil, nil
	<-h.turn
	return fmt.Errorf("receive: %w", context.Cause(ctx))
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// ServeHTTP takes one post. It answers 200 when the frame was handed on.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status := h.refuse(r); status != 0 {
		if status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", http.MethodPost)
		}
		http.Error(w, http.StatusText(status), status)
		return
	}
	buf := buffers.Get().(*bytes.Buffer)
	buf.Reset()
	_, err := buf.ReadFrom(io.LimitReader(r.Body, transport.MaxFrame+1))
	readAt := time.Now()
	if status := h.take(frameOf(buf.Bytes(), err), max(r.ContentLength, int64(buf.Len()))); status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
	} else {
		w.Header().Set("Content-Length", "0")     // or what is written here would not be all of it
		_ = http.NewResponseController(w).Flush() // net/http would, and a moment later; a poster that has gone changes nothing
		h.answered(time.Since(readAt))
	}
	if buf.Cap() <= keptBuffer {
		buffers.Put(buf)
	}
}

// refuse returns the status for who may not post, 0 for who may.
func (h *Handler) refuse(r *http.Request) int {
	switch {
	case h.asks && !h.knows(path.Base(r.URL.Path)):
		return http.StatusNotFound // as if there were nothing
	case !h.asks && !loopback(r.RemoteAddr):
		return http.StatusForbidden
	case r.Header.Get("Origin") != "":
		return http.StatusForbidden // a page in a browser of this machine
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed
	}
	return 0
}

// knows compares a token in a time that does not depend on it.
func (h *Handler) knows(token string) bool {
	digest := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(digest[:], h.token[:]) == 1
}

func loopback(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// post is what a post holds: a frame, or the reason for which it has none.
type post struct {
	raw []byte // the frame, inside the post's body
	why transport.Reject
}

// frameOf looks for the frame in a body; err is why that could not be read
// whole. It comes before the turn is taken, so that a large body is nobody
// else's business.
func frameOf(body []byte, err error) post {
	switch {
	case len(body) > transport.MaxFrame:
		return post{why: transport.RejectTooLong}
	case err != nil:
		return post{why: transport.RejectNoFrame}
	}
	l, err := transport.ParseLine(body)
	if raw, _, ok := l.Frame(); err == nil && ok {
		return post{raw: raw}
	}
	return post{why: transport.RejectNoFrame}
}

// take hands on what a post of so many bytes holds and returns the status to
// answer. It waits for the turn, which nobody has for longer than a Frame takes
// that does not wait.
func (h *Handler) take(p post, size int64) int {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	if h.to == nil {
		h.missed()
		return http.StatusServiceUnavailable
	}
	h.to.Alive()
	switch p.why {
	case "":
		h.frame(p.raw)
		return http.StatusOK
	case transport.RejectTooLong:
		h.to.Rejected(p.why, size)
		return http.StatusRequestEntityTooLarge
	}
	h.to.Rejected(p.why, size)
	return http.StatusBadRequest
}
