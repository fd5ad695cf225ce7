package signalrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"quartet/kit/pool"
	"quartet/services/botd/internal/transport"
)

// longestCall bounds a call whose context does not.
const longestCall = 5 * time.Minute

var (
	errClosed  = errors.New("the client is closed")
	errTooLate = fmt.Errorf("no answer within %s: %w", longestCall, context.DeadlineExceeded)
)

// caller makes calls over one connection, and connects again when it is lost.
// Answers come in any order.
type caller struct {
	dial    func(context.Context) (net.Conn, error)
	start   func(ctx context.Context, operation string) (context.Context, func(pool.Call))
	unasked *atomic.Bool // set when a frame comes that nobody subscribed to
	ids     atomic.Uint64
	dialing chan struct{} // one slot: who connects
	readers sync.WaitGroup

	mu     sync.Mutex
	wire   *wire // guarded by mu; nil before the first call
	closed bool  // guarded by mu
}

func newCaller(dial func(context.Context) (net.Conn, error), unasked *atomic.Bool) *caller {
	return &caller{dial: dial, start: unwatched, unasked: unasked, dialing: make(chan struct{}, 1)}
}

// unwatched is the hook of a caller whose calls nobody times.
func unwatched(ctx context.Context, _ string) (context.Context, func(pool.Call)) {
	return ctx, func(pool.Call) {}
}

// call is one call on its way.
type call struct {
	id   uint64
	line *[]byte     // with its end; from buffers
	done chan answer // one slot

	handed bool // to the writer; guarded by the wire's mu
}

// answer is what became of a call: one of the three is set.
type answer struct {
	result []byte // raw JSON
	fault  []byte // raw JSON: the server refused
	err    error  // no answer will come
}

// do writes the line that build makes and waits for the answer. Errors:
// *transport.Error when the server refused; ErrOutcomeUnknown when the line may
// have been read; any other one means that it was not.
func (c *caller) do(ctx context.Context, method string, build func(b []byte, id string) []byte) (result []byte, err error) {
	ctx, done := c.start(ctx, method)
	reused := false
	defer func() { done(pool.Call{Reused: reused, Err: err}) }()
	ctx, cancel := context.WithTimeoutCause(ctx, longestCall, errTooLate)
	defer cancel()
	w, _ := c.current()
	if reused = w != nil; !reused {
		if w, err = c.connected(ctx); err != nil {
			return nil, err
		}
	}
	id := c.ids.Add(1)
	buf := buffers.Get().(*[]byte)
	quoted := `"` + strconv.FormatUint(id, 10) + `"`
	*buf = build((*buf)[:0], quoted)
	a := w.do(ctx, id, buf)
	switch {
	case a.err != nil:
		return nil, a.err
	case a.fault != nil:
		return nil, readError(a.fault)
	}
	return a.result, nil
}

// buffers recycles lines: one with a picture inside has some hundred KiB.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// connected connects, unless somebody else has done so meanwhile.
func (c *caller) connected(ctx context.Context) (*wire, error) {
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the connection: %w", context.Cause(ctx))
	}
	if w, err := c.current(); w != nil || err != nil {
		return w, err
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
		return nil, errClosed
	}
	c.wire = newWire(conn, c.unasked)
	c.readers.Go(c.wire.read)
	c.readers.Go(c.wire.write)
	return c.wire, nil
}

// current returns the connection if it lives.
func (c *caller) current() (*wire, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.wire == nil || c.wire.lost() {
		return nil, nil
	}
	return c.wire, nil
}

// close ends the connection and waits until nothing runs any more.
func (c *caller) close() {
	c.mu.Lock()
	c.closed = true
	w := c.wire
	c.mu.Unlock()
	if w != nil {
		w.fail(errClosed)
	}
	c.readers.Wait()
}

// unknown is the error of a call that may have been read.
func unknown(why error) error {
	return fmt.Errorf("%w: %w", transport.ErrOutcomeUnknown, why)
}
