// Package serve runs a simulator's HTTP server: loopback only unless told
// otherwise, and stopped within a bounded time even while requests hang on
// purpose.
//
// Guarantee: when Run returns, the listener is closed and the context of every
// request it served has ended.
//
// It offers no TLS: a simulator speaks to tests and to containers beside it.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ErrNotLoopback is returned for an address that other machines could reach.
var ErrNotLoopback = errors.New("not a loopback address (-allow-remote permits it)")

// stopAfter bounds how long requests may go on after the stop.
const stopAfter = 2 * time.Second

// Listen opens a TCP listener; remote permits addresses other than loopback.
func Listen(ctx context.Context, address string, remote bool) (net.Listener, error) {
	if !remote {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return nil, fmt.Errorf("listen on %s: %w", address, ErrNotLoopback)
		}
	}
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", address)
}

// Options are what Run needs besides the listener.
type Options struct {
	Handler   http.Handler
	Log       *slog.Logger
	ConnState func(net.Conn, http.ConnState) // may be nil
}

// Run serves until ctx ends; then requests in flight see their contexts end
// and get stopAfter to finish. It returns nil after a stop by ctx.
func Run(ctx context.Context, listener net.Listener, o Options) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	server := &http.Server{
		Handler:           o.Handler,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnState:         o.ConnState,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	stopped := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		defer close(stopped)
		cancel()
		limit, done := context.WithTimeout(context.WithoutCancel(ctx), stopAfter)
		defer done()
		if server.Shutdown(limit) != nil {
			_ = server.Close() // what still hangs was told to hang
		}
	})
	err := server.Serve(listener)
	if release() {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	<-stopped
	return nil
}
