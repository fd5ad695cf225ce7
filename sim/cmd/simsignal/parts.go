package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"quartet/sim/internal/jsonrpc"
	"quartet/sim/internal/serve"
)

// runParts runs every part until ctx ends or one of them fails, and returns
// that failure once all have ended.
func runParts(ctx context.Context, parts map[string]func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	failed := make(chan error, len(parts))
	for name, part := range parts {
		wg.Go(func() {
			if err := part(ctx); err != nil {
				failed <- fmt.Errorf("%s: %w", name, err)
				cancel(err)
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed // nil when nobody failed
}

// announce says where a surface is; the line is one write, so lines never mix.
func announce(stdout io.Writer, log *slog.Logger, name, url string) {
	fmt.Fprintf(stdout, "%s %s\n", name, url)
	log.Info("listening", slog.String("surface", name), slog.String("url", url))
}

// listenRPC listens where JSON-RPC is spoken: on a Unix socket or over TCP.
func listenRPC(ctx context.Context, o options) (net.Listener, error) {
	if path, ok := jsonrpc.SocketPath(o.rpc); ok {
		return jsonrpc.ListenUnix(ctx, path)
	}
	return serve.Listen(ctx, o.rpc, o.remote)
}

func rpcURL(at net.Addr) string { return at.Network() + "://" + at.String() }
