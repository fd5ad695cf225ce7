// Package signalrpc speaks to signal-cli's daemon directly: JSON-RPC 2.0, a
// line an object, over TCP or a unix socket.
//
// Nothing is lost on this way. With --receive-mode=manual signal-cli fetches
// messages only while somebody is subscribed, so that they wait at Signal while
// we are down; and while we do not read, its receive thread waits, so that a
// receiver may take its time.
//
// There are two connections. signal-cli writes the lines of one connection
// under one lock: an answer to a call would stand behind the frames that a slow
// receiver does not take, and a receiver that waits for its own send to be
// answered would wait for ever. So the subscription's connection carries frames
// and nothing else, and stops being read when Frame waits; the other one
// carries calls, and its reader never waits for anybody.
//
//	client.go   the client, its addresses
//	receive.go  the subscription
//	caller.go   the connection for calls, wire.go while it lives
//	send.go     messages, reactions, typing; answer.go what becomes of them
//	account.go  groups, keys, our profile
//	link.go     becoming another device of an account
//	check.go    can this server serve us?
//	spool.go    pictures as files that signal-cli reads itself
//	lines.go    lines out of a stream; alive.go notices when it is dead
package signalrpc

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"quartet/kit/pool"
	"quartet/services/botd/internal/transport"
)

const dialTimeout = 10 * time.Second

// Options say where signal-cli is and who we are there.
type Options struct {
	// Address is host:port, or the absolute path of a unix socket, with or
	// without "unix:" before it. signal-cli asks nobody for a password: who
	// reaches the address owns the account.
	Address string

	Number string // our own number, spelled exactly as registered

	// Spool is a folder in which pictures are handed over, seen by signal-cli
	// under the same path and by the same user; one client at a time has it.
	// "" sends them inside the call, which costs some milliseconds for each MiB;
	// so does what finds no room there, because 64 MiB lie in it already, and
	// what cannot be written.
	Spool string

	Log *slog.Logger // of what goes wrong there; may be nil

	// Start, if set, is called as each call begins, as pool.Options.Start: the
	// function that it returns gets the finished call, of which only Reused and
	// Err are told.
	Start func(ctx context.Context, operation string) (context.Context, func(pool.Call))
}

// Client is one account at one signal-cli. It is safe for concurrent use.
type Client struct {
	number string
	dial   func(context.Context) (net.Conn, error)
	spool  *spool // nil: send pictures inside the call
	log    *slog.Logger
	caller *caller

	// unasked is set when frames came outside a subscription: signal-cli is
	// not in manual mode, and receives whether we are there or not.
	unasked atomic.Bool
}

var _ transport.Transport = (*Client)(nil)

// New returns a client. It connects when it is used; but the spool is made, and
// what an earlier run left in it is removed, at once.
func New(o Options) (*Client, error) {
	c := &Client{number: o.Number, dial: dialer(o.Address), log: o.Log}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if o.Spool != "" {
		var err error
		if c.spool, err = openSpool(o.Spool); err != nil {
			return nil, err
		}
	}
	c.caller = newCaller(func(ctx context.Context) (net.Conn, error) { return c.dial(ctx) }, &c.unasked)
	if o.Start != nil {
		c.caller.start = o.Start
	}
	return c, nil
}

// Close ends the connection for calls; calls that wait for an answer get
// ErrOutcomeUnknown, later ones are not sent. Receive ends by its context.
func (c *Client) Close() error {
	c.caller.close()
	if c.spool != nil {
		return c.spool.close()
	}
	return nil
}

// Traits say that Frame may wait, and how long silence is no fault.
func (c *Client) Traits() transport.Traits {
	return transport.Traits{PressesBack: true, MaxSilence: silence}
}

// dialer connects to an address as Options spells them.
func dialer(address string) func(context.Context) (net.Conn, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok || filepath.IsAbs(address) {
		network, address = "unix", path
	}
	return func(ctx context.Context) (net.Conn, error) {
		d := net.Dialer{Timeout: dialTimeout}
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, fmt.Errorf("connect to signal-cli: %w", err)
		}
		return conn, nil
	}
}
