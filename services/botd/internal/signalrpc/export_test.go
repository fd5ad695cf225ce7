package signalrpc

import (
	"context"
	"io"
	"net"
	"sync/atomic"

	"quartet/services/botd/internal/transport"
)

// DialBy makes the client connect by dial.
func (c *Client) DialBy(dial func(context.Context) (net.Conn, error)) { c.dial = dial }

// LimitSpool is how many bytes may lie in the client's spool at once.
func (c *Client) LimitSpool(bytes int64) { c.spool.max = bytes }

// Lines calls each for every line of a stream, and returns how it ended.
func Lines(from io.Reader, longest int, each func(line string, tooLong int64)) error {
	in := newLines(from, longest)
	for {
		line, tooLong, err := in.next()
		if err != nil {
			return err
		}
		each(string(line), tooLong)
	}
}

// TakeLine handles one line of a subscription.
func TakeLine(to transport.Receiver, line []byte) error {
	s := &subscription{client: &Client{}, to: to, open: make(chan struct{})}
	return s.take(context.Background(), line)
}

// Answered is how many answers the call with an id gets by a line that comes
// twice.
func Answered(id uint64, line []byte) int {
	w := newWire(nil, new(atomic.Bool))
	c := &call{id: id, done: make(chan answer, 2)}
	w.add(c)
	w.answered(line)
	w.answered(line)
	return len(c.done)
}

// The readers of answers.
var (
	ReadReceipt = readReceipt
	ReadError   = readError
)
