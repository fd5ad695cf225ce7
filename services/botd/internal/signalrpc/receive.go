package signalrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quartet/services/botd/internal/transport"
)

const (
	// subscribeTimeout bounds the wait for the subscription or a first frame.
	subscribeTimeout = 15 * time.Second

	// askTimeout bounds writing one of the short calls of this connection.
	askTimeout = 10 * time.Second

	// leaveTimeout bounds the wait for what is still under way when we stop.
	leaveTimeout = 2 * time.Second

	// receiveWindow is the kernel's room for frames that we have not read, in
	// bytes: signal-cli has forgotten them, so they are lost if we are killed.
	receiveWindow = 64 << 10

	subscribeID   = `"subscribe"`
	unsubscribeID = `"unsubscribe"`
	probeLine     = `{"jsonrpc":"2.0","id":"probe","method":"version"}` + "\n"
)

var (
	errNotSubscribed = fmt.Errorf("signal-cli did not answer the subscription within %s", subscribeTimeout)
	errLeft          = errors.New("the subscription has ended")
)

// Receive subscribes and hands frames on until ctx ends or the connection
// breaks. While Frame waits nothing is read, and signal-cli waits with it. When
// ctx ends, signal-cli is told so and what it had already sent is still handed
// on, for a moment: nobody else would ever get it.
func (c *Client) Receive(ctx context.Context, to transport.Receiver) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(receiveWindow) // else more is at stake, no worse
	}
	link, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	s := &subscription{client: c, conn: conn, to: to, open: make(chan struct{})}
	s.id.Store(noSubscription)
	var watching sync.WaitGroup
	watching.Go(func() {
		s.watch(ctx, link, cut)
		conn.Close() // ends the reader
	})
	err = s.run(link)
	cut(err)
	watching.Wait()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	} else {
		err = context.Cause(link)
	}
	return fmt.Errorf("receive: %w", err)
}

// subscription is one connection that receives.
type subscription struct {
	client *Client
	conn   net.Conn
	to     transport.Receiver

	open    chan struct{} // closed when frames come, or will
	isOpen  bool          // whether it is; owned by the reader
	wrapped bool          // a frame has come by our subscription; owned by the reader
	id      atomic.Int64  // the subscription's number at signal-cli
}

const noSubscription = -1

// watch ends the link when it does not open in time, or when ctx has ended and
// what was under way is here.
func (s *subscription) watch(ctx, link context.Context, cut context.CancelCauseFunc) {
	late := time.NewTimer(subscribeTimeout)
	defer late.Stop()
	select {
	case <-s.open:
	case <-late.C:
		cut(errNotSubscribed)
	case <-ctx.Done():
	case <-link.Done():
	}
	select {
	case <-ctx.Done():
		s.leave(link)
		cut(context.Cause(ctx))
	case <-link.Done():
	}
}

// leave ends the subscription and waits until the reader has seen the answer,
// which comes behind all frames.
func (s *subscription) leave(link context.Context) {
	id := s.id.Load()
	if id == noSubscription {
		return
	}
	line := s.client.appendCall(nil, unsubscribeID, "unsubscribeReceive")
	line = strconv.AppendInt(append(line, `,"subscription":`...), id, 10)
	if s.ask(string(line)+"}}\n") != nil {
		return
	}
	rest := time.NewTimer(leaveTimeout)
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-link.Done():
	}
}

// run returns why it ended.
func (s *subscription) run(link context.Context) error {
	if err := s.ask(string(s.client.appendCall(nil, subscribeID, "subscribeReceive")) + "}}\n"); err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	in := newLines(&alive{s.conn, func() error { return s.ask(probeLine) }}, transport.MaxFrame)
	for link.Err() == nil {
		line, tooLong, err := in.next()
		if err != nil {
			return fmt.Errorf("read from signal-cli: %w", err)
		}
		s.to.Alive()
		if tooLong > 0 {
			s.to.Rejected(transport.RejectTooLong, tooLong)
			continue
		}
		if err := s.take(link, line); err != nil {
			return err
		}
	}
	return context.Cause(link)
}

// ask writes a call of this connection. signal-cli reads calls on a thread of
// their own, so it is never held up by frames.
func (s *subscription) ask(line string) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(askTimeout)); err != nil {
		return err
	}
	_, err := io.WriteString(s.conn, line)
	return err
}

// take handles one line. An error ends the connection.
func (s *subscription) take(link context.Context, line []byte) error {
	l, err := transport.ParseLine(line)
	raw, subscribed, isFrame := l.Frame()
	switch {
	case err == nil && isFrame:
		s.frame(link, raw, subscribed)
	case err == nil && string(l.ID) == subscribeID:
		return s.answered(l)
	case err == nil && string(l.ID) == unsubscribeID:
		return errLeft
	case err == nil && l.ID != nil, err == nil && l.Method != nil && string(l.Method) != `"receive"`:
		// The answer to a probe, or a notification that we know nothing of.
	default:
		s.to.Rejected(transport.RejectNoFrame, int64(len(line)))
	}
	return nil
}

// frame hands a frame on. In the modes on-start and on-connection signal-cli
// sends every frame to whoever is connected, and our subscription brings it a
// second time; as soon as the subscription is known to bring frames, the other
// ones are dropped.
func (s *subscription) frame(link context.Context, raw []byte, subscribed bool) {
	if subscribed {
		s.wrapped = true
	} else {
		s.client.unasked.Store(true)
		if s.wrapped {
			s.to.Rejected(transport.RejectUnasked, int64(len(raw)))
			return
		}
	}
	s.opened()
	s.to.Frame(link, raw)
}

// opened tells the receiver once that frames come. The first frame may come
// before the answer to the subscription.
func (s *subscription) opened() {
	if !s.isOpen {
		s.isOpen = true
		close(s.open)
		s.to.Open()
	}
}

// answered takes the answer to the subscription. A refusal that says that this
// server cannot subscribe, or receives already, leaves us with what comes unasked.
func (s *subscription) answered(l transport.Line) error {
	if l.Error != nil {
		refused := readError(l.Error)
		if refused.Code != transport.CodeMethod && !strings.Contains(strings.ToLower(refused.Text), "already") {
			return fmt.Errorf("subscribe: %w", refused)
		}
		s.client.unasked.Store(true)
	} else if id, err := strconv.ParseInt(string(l.Result), 10, 64); err == nil {
		s.id.Store(id)
	}
	s.opened()
	return nil
}
