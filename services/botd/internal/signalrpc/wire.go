package signalrpc

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"quartet/services/botd/internal/transport"
)

// writeTimeout bounds the writing of one line; one that does not go out within
// it ends the connection, because half a line spoils all that follow.
const writeTimeout = 30 * time.Second

// wire is one connection for calls while it lives: one goroutine writes the
// lines, one reads the answers and waits for nobody.
type wire struct {
	conn    net.Conn
	unasked *atomic.Bool
	lines   chan *call // no slots: who has handed a call over knows that it is being written
	dead    chan struct{}

	mu      sync.Mutex
	pending map[uint64]*call // guarded by mu; calls without an answer
	writing *call            // guarded by mu; what becomes of it the writer finds out
	err     error            // guarded by mu; why the wire is dead, nil while it lives
}

func newWire(conn net.Conn, unasked *atomic.Bool) *wire {
	return &wire{
		conn:    conn,
		unasked: unasked,
		lines:   make(chan *call),
		dead:    make(chan struct{}),
		pending: map[uint64]*call{},
	}
}

// do hands a line over and waits for its answer. buf is the wire's from here.
func (w *wire) do(ctx context.Context, id uint64, buf *[]byte) answer {
	c := &call{id: id, line: buf, done: make(chan answer, 1)}
	if ctx.Err() != nil || !w.add(c) {
		buffers.Put(buf)
		return answer{err: fmt.Errorf("not sent: %w", w.why(ctx))}
	}
	select {
	case w.lines <- c:
	case <-w.dead:
		buffers.Put(buf)
		return answer{err: fmt.Errorf("not sent: %w", w.why(ctx))}
	case <-ctx.Done():
		w.take(id)
		buffers.Put(buf)
		return answer{err: fmt.Errorf("not sent: %w", context.Cause(ctx))}
	}
	select {
	case a := <-c.done:
		return a
	case <-ctx.Done():
	}
	if w.take(id) == nil {
		return <-c.done // the answer came at the same moment
	}
	return answer{err: unknown(context.Cause(ctx))}
}

// why is the reason for which nothing could be handed over.
func (w *wire) why(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// add expects an answer; false when the wire is dead.
func (w *wire) add(c *call) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return false
	}
	w.pending[c.id] = c
	return true
}

// take stops expecting an answer. Who gets the call, and only they, may end it.
func (w *wire) take(id uint64) *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.pending[id]
	delete(w.pending, id)
	return c
}

func (w *wire) lost() bool {
	select {
	case <-w.dead:
		return true
	default:
		return false
	}
}

// fail ends the wire, once. What was written may have been read; what was not
// handed over yet, its caller gives up.
func (w *wire) fail(err error) {
	var written []*call
	w.mu.Lock()
	if w.err == nil {
		w.err = err
		close(w.dead)
		for id, c := range w.pending {
			if c.handed && c != w.writing {
				delete(w.pending, id)
				written = append(written, c)
			}
		}
	}
	w.mu.Unlock()
	w.conn.Close()
	for _, c := range written {
		c.done <- answer{err: lostAfter(err)}
	}
}

func lostAfter(err error) error { return unknown(fmt.Errorf("connection lost: %w", err)) }

// write writes what is handed over until the wire is dead.
func (w *wire) write() {
	for {
		select {
		case <-w.dead:
			return
		case c := <-w.lines:
			w.begin(c)
			n, err := w.writeLine(*c.line)
			w.end(c, len(*c.line)-n, err)
			buffers.Put(c.line)
		}
	}
}

func (w *wire) writeLine(line []byte) (n int, err error) {
	if err := w.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return w.conn.Write(line)
}

// begin marks a call as being written.
func (w *wire) begin(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.handed, w.writing = true, c
}

// end tells a call that could not be written what became of it; missing is how
// many bytes did not go out. A line without its last brace is no JSON, so
// nothing was done by it.
func (w *wire) end(c *call, missing int, err error) {
	w.mu.Lock()
	w.writing = nil
	if err == nil {
		err = w.err // the connection was lost while the last of it went out
	}
	w.mu.Unlock()
	if err == nil {
		return
	}
	if w.take(c.id) != nil {
		if missing >= len("}\n") {
			c.done <- answer{err: fmt.Errorf("not sent: %w", err)}
		} else {
			c.done <- answer{err: lostAfter(err)}
		}
	}
	w.fail(err)
}

// read hands out answers until the wire is dead.
func (w *wire) read() {
	in := newLines(&alive{w.conn, w.probe}, transport.MaxFrame)
	for {
		line, tooLong, err := in.next()
		if err != nil {
			w.fail(err)
			return
		}
		if tooLong == 0 {
			w.answered(line)
		}
	}
}

// probe asks for a sign of life, unless a line is being written: that one's own
// time-out watches then.
func (w *wire) probe() error {
	buf := buffers.Get().(*[]byte)
	*buf = append((*buf)[:0], probeLine...)
	select {
	case w.lines <- &call{line: buf, done: make(chan answer, 1)}:
	default:
		buffers.Put(buf)
	}
	return nil
}

// answered gives an answer to who waits for it. Frames come here as well when
// signal-cli is not in manual mode; the subscription has its own connection.
func (w *wire) answered(line []byte) {
	l, err := transport.ParseLine(line)
	if err != nil {
		return // whose answer this was to be cannot be told: its call ends by its deadline
	}
	if _, subscribed, isFrame := l.Frame(); isFrame && !subscribed {
		w.unasked.Store(true)
	}
	if l.ID == nil || l.Method != nil {
		return
	}
	id, err := strconv.ParseUint(string(bytes.Trim(l.ID, `"`)), 10, 64)
	if err != nil {
		return
	}
	c := w.take(id)
	if c == nil {
		return // nobody waits for it any more
	}
	if l.Error != nil {
		c.done <- answer{fault: bytes.Clone(l.Error)}
		return
	}
	result := bytes.Clone(l.Result)
	if result == nil {
		result = []byte("null")
	}
	c.done <- answer{result: result}
}
