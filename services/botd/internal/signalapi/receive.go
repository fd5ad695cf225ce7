package signalapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"quartet/services/botd/internal/transport"
)

const (
	// pingPeriod is how often we ask whether the server is still there. Its
	// own pings, every 54 s, are not enough: it never notices a dead client
	// and a half-open connection looks like a quiet group.
	pingPeriod = 20 * time.Second

	// pongTimeout is how long one ping may stay unanswered.
	pongTimeout = 10 * time.Second

	// silence is how long nothing at all may come, no frame, ping or pong,
	// before the connection counts as dead.
	silence = 45 * time.Second

	dialTimeout = 10 * time.Second
)

// Traits say that Frame must not wait, and that pings and pongs show a life
// that frames do not.
func (c *Client) Traits() transport.Traits { return transport.Traits{MaxSilence: silence} }

// Receive opens the websocket and passes on frames until ctx ends or the
// connection breaks; it always returns an error that says why.
func (c *Client) Receive(ctx context.Context, to transport.Receiver) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &socket{to: to, opened: time.Now()}
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	conn, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(-1) // transport.MaxFrame is ours to keep, without breaking the connection
	to.Open()
	watching.Go(func() {
		if err := s.watch(ctx, conn); err != nil {
			cancel(err)
		}
	})
	err = s.read(ctx, conn)
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, net.ErrClosed)) {
		err = cause
	}
	return fmt.Errorf("receive: %w", err)
}

// dial opens the websocket. The old one is always closed before: an open
// socket that nobody reads starves every other client of the server.
func (c *Client) dial(ctx context.Context, s *socket) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	u := c.base.JoinPath("/v1/receive", url.PathEscape(c.number))
	conn, resp, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{
		HTTPClient:      c.dialer,
		CompressionMode: websocket.CompressionDisabled,
		OnPingReceived: func(context.Context, []byte) bool {
			s.seen()
			return true
		},
	})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return nil, fmt.Errorf("open the websocket: the server answered status %d instead: it must run with MODE=json-rpc: %w", resp.StatusCode, err)
		}
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // the address has our number in it
		}
		return nil, fmt.Errorf("open the websocket: %w", err)
	}
	return conn, nil
}

// socket is one websocket while it lives.
type socket struct {
	to     transport.Receiver
	opened time.Time
	last   atomic.Int64 // when the server last showed that it is there, nanoseconds since opened
}

func (s *socket) seen() {
	s.last.Store(int64(time.Since(s.opened)))
	s.to.Alive()
}

// quiet is how long the server has not shown that it is there.
func (s *socket) quiet() time.Duration {
	return time.Since(s.opened) - time.Duration(s.last.Load())
}

// read passes on frames until the connection fails.
func (s *socket) read(ctx context.Context, conn *websocket.Conn) error {
	var buf bytes.Buffer
	for {
		_, r, err := conn.Reader(ctx)
		if err != nil {
			return err
		}
		buf.Reset()
		if _, err := buf.ReadFrom(io.LimitReader(r, transport.MaxFrame+1)); err != nil {
			return err
		}
		if buf.Len() > transport.MaxFrame {
			rest, err := io.Copy(io.Discard, r)
			if err != nil {
				return err
			}
			s.to.Rejected(transport.RejectTooLong, int64(buf.Len())+rest)
			buf = bytes.Buffer{} // do not keep the room of a giant
			continue
		}
		s.seen()
		s.to.Frame(ctx, buf.Bytes())
	}
}

// watch pings the server and returns an error when that fails or nothing has
// come from it for too long, nil when ctx ends. The read never goes on without it.
func (s *socket) watch(ctx context.Context, conn *websocket.Conn) error {
	tick := time.NewTicker(pingPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		pong, cancel := context.WithTimeout(ctx, pongTimeout)
		err := conn.Ping(pong)
		cancel()
		if err == nil {
			s.seen()
			continue
		}
		if quiet := s.quiet(); quiet > silence {
			return fmt.Errorf("nothing came from the server for %s, not even an answer to a ping", quiet.Round(time.Second))
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}
