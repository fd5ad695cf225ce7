package pool

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// What Close may read of a body that the caller does not want, to save the
// connection: a new one costs a few round trips and, with TLS, milliseconds.
const (
	drainBytes = 16 << 10
	drainTime  = 50 * time.Millisecond
)

// body is an answer's body. It ends its call.
type body struct {
	rc     io.ReadCloser
	call   *call
	length int64 // announced, -1 if unknown
	limit  int64 // 0 = none
}

func (b *body) Read(p []byte) (int, error) {
	room := int64(math.MaxInt64)
	if b.limit > 0 {
		room = max(b.limit-b.call.bytes.Load(), 0) // what Close read may be more
	}
	if int64(len(p)) > room {
		p = p[:room+1] // one byte more tells too long from just full
	}
	n, err := b.rc.Read(p)
	if int64(n) > room {
		n = int(room)
		err = fmt.Errorf("%w: limit %d", ErrBodyTooLarge, b.limit)
		_ = b.rc.Close() // the rest is of no use to anybody
	}
	b.call.bytes.Add(int64(n))
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.call.end(nil)
	default:
		err = b.fail(err)
	}
	return n, err
}

func (b *body) fail(err error) error {
	if b.call.ctx.Err() != nil && !b.call.done.Load() {
		err = contextError(b.call.ctx)
	}
	err = b.call.wrap(fmt.Errorf("body: %w", err))
	b.call.end(err)
	return err
}

// Close ends the call. It waits for a small rest of the body, at most 50 ms.
func (b *body) Close() error {
	if !b.call.done.Load() {
		b.call.stopWatch() // running out of patience is no failure of the call
		b.drain()
	}
	err := b.rc.Close()
	b.call.end(nil)
	return err
}

func (b *body) drain() {
	have := b.call.bytes.Load()
	if b.length-have > drainBytes {
		return
	}
	late := time.AfterFunc(drainTime, b.call.cancel)
	defer late.Stop()
	n, _ := io.CopyN(io.Discard, b.rc, drainBytes) // an error only costs the connection
	b.call.bytes.Add(n)
}
