// Package jsonrpc is the surface of signal-cli's daemon over TCP and over a Unix
// socket: JSON-RPC 2.0, one object or batch a line, answers in any order, frames
// as notifications.
//
// Guarantee: a client that does not read blocks the frames of everybody, as
// with the real daemon's one receive thread (back-pressure, no loss), and never
// more than maxCalls of its own calls are in work.
//
// The methods are those in call.go; there are no contacts, polls or
// registration. There is no HTTP endpoint.
//
// Files: listen.go (addresses), server.go (connections), call.go (calls),
// params.go, send.go, sign.go, list.go, manage.go.
package jsonrpc

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"quartet/sim/internal/signalnet"
)

const (
	maxCalls = 256      // calls of one connection in work at the same time; then it is not read further
	maxConns = 128      // connections at the same time; the next one waits to be accepted
	maxLine  = 32 << 20 // bytes of a request line; the real daemon has no limit
)

// Server serves the surface. Make it with New.
type Server struct {
	net           *signalnet.Network
	log           *slog.Logger
	clients       atomic.Int64
	subscriptions atomic.Int64

	mu    sync.Mutex
	conns map[*conn]struct{} // guarded by mu
}

// New makes the surface of a network.
func New(n *signalnet.Network, log *slog.Logger) *Server {
	return &Server{net: n, log: log, conns: map[*conn]struct{}{}}
}

// Clients returns how many connections are open.
func (s *Server) Clients() int64 { return s.clients.Load() }

// Subscriptions returns how many subscriptions connections hold.
func (s *Server) Subscriptions() int64 { return s.subscriptions.Load() }

// Disconnect closes every connection and returns how many.
func (s *Server) Disconnect() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.wire.Close()
	}
	return len(s.conns)
}

// Run accepts connections until ctx ends, and then closes them.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, maxConns)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		wire, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept json-rpc: %w", err)
		}
		wg.Go(func() {
			defer func() { <-slots }()
			s.serve(ctx, wire)
		})
	}
}

func (s *Server) serve(ctx context.Context, wire net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &conn{server: s, wire: wire, writing: make(chan struct{}, 1), calls: make(chan struct{}, maxCalls)}
	stop := context.AfterFunc(ctx, func() { _ = wire.Close() })
	defer stop()
	s.add(c)
	defer s.remove(c)
	leave := s.net.Subscribe(signalnet.Connection, c.unasked())
	defer leave()
	defer c.unsubscribeAll()
	err := c.read(ctx)
	cancel()
	c.work.Wait()
	s.log.LogAttrs(ctx, slog.LevelDebug, "json-rpc connection ended", slog.Any("err", err))
}

func (s *Server) add(c *conn) {
	s.clients.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
}

func (s *Server) remove(c *conn) {
	s.clients.Add(-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// conn is one client.
type conn struct {
	server  *Server
	wire    net.Conn
	writing chan struct{} // one slot: lines never mix
	calls   chan struct{} // one slot a call in work
	work    sync.WaitGroup

	mu   sync.Mutex
	subs []func() // guarded by mu; by subscription number, nil when ended
	held []byte   // guarded by mu; the answer that out_of_order holds back
}

// read takes lines until the connection ends.
func (c *conn) read(ctx context.Context) error {
	scanner := bufio.NewScanner(c.wire)
	scanner.Buffer(make([]byte, 0, 64<<10), maxLine)
	for scanner.Scan() {
		at := time.Now()
		line := append([]byte(nil), scanner.Bytes()...)
		select {
		case c.calls <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		c.work.Go(func() {
			defer func() { <-c.calls }()
			c.handle(ctx, at, line)
		})
	}
	return scanner.Err()
}

// write writes one line. When ctx ends in the middle the line is broken, so
// the connection is closed.
func (c *conn) write(ctx context.Context, line []byte) error {
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-c.writing }()
	stop := context.AfterFunc(ctx, func() { _ = c.wire.Close() })
	defer stop()
	_, err := c.wire.Write(append(line, '\n'))
	return err
}

// cut writes a part of a line and closes the connection.
func (c *conn) cut(ctx context.Context, part string) {
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
		_, _ = c.wire.Write([]byte(part))
		_ = c.wire.Close()
	case <-ctx.Done():
	}
}

// unasked is the subscriber of a mere connection: it gets frames unless the
// mode is manual.
func (c *conn) unasked() signalnet.Subscriber {
	if c.server.net.Mode == signalnet.Manual {
		return nil
	}
	return func(ctx context.Context, f signalnet.Frame) error { return c.notify(ctx, f, nil) }
}

func (c *conn) notify(ctx context.Context, f signalnet.Frame, subscription *int) error {
	if err := c.write(ctx, notification(f, subscription)); err != nil {
		c.server.net.Lost()
		return err
	}
	c.server.net.Delivered.Add(1)
	return nil
}

// notification builds the line for a frame; with a subscription it is wrapped.
func notification(f signalnet.Frame, subscription *int) []byte {
	if f.Fault == "" && subscription != nil {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"receive","params":{"subscription":%d,"result":%s}}`, *subscription, f.Params)
	}
	return f.Line()
}

func (c *conn) subscribe() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := len(c.subs)
	c.subs = append(c.subs, c.server.net.Subscribe(signalnet.Subscribed, func(ctx context.Context, f signalnet.Frame) error {
		return c.notify(ctx, f, &id)
	}))
	c.server.subscriptions.Add(1)
	return id
}

func (c *conn) unsubscribe(id int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id < 0 || id >= len(c.subs) || c.subs[id] == nil {
		return false
	}
	c.subs[id]()
	c.subs[id] = nil
	c.server.subscriptions.Add(-1)
	return true
}

func (c *conn) unsubscribeAll() {
	for id := range c.count() {
		c.unsubscribe(id)
	}
}

func (c *conn) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.subs)
}
