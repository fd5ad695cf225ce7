// Command simsignal plays Signal for a bot: signal-cli-rest-api over HTTP,
// websocket and webhook, signal-cli's JSON-RPC over TCP or a Unix socket, and a
// group chat in the browser. It is steered under /_sim/ and keeps nothing on disk. It is for tests and
// demonstrations: it authenticates nobody.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"quartet/sim/internal/control"
	"quartet/sim/internal/groupchat"
	"quartet/sim/internal/jsonrpc"
	"quartet/sim/internal/latency"
	"quartet/sim/internal/restapi"
	"quartet/sim/internal/serve"
	"quartet/sim/internal/signalnet"
	"quartet/sim/internal/steer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "simsignal:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. Each address that is listened on becomes a line
// on stdout ("rest http://…", "rpc tcp://…" or "rpc unix:///…"), so that port 0 can be used.
// The arguments "healthcheck [URL]" ask a running one instead.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "healthcheck" {
		return serve.Healthcheck(ctx, args[1:], "http://127.0.0.1:8080/v1/health")
	}
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(stderr, nil)).With(slog.String("service", "simsignal"))
	chat := groupchat.New(o.network.Groups[0])
	o.network.Log, o.network.OnFrame, o.network.OnSent, o.network.OnSign = log, chat.Asked, chat.Answered, chat.Signed
	net := signalnet.New(o.network)
	panel := steer.Panel{Net: net, REST: restapi.New(net), RPC: jsonrpc.New(net, log), Chat: chat}
	if o.webhook != "" {
		stop, err := panel.REST.PostTo(o.webhook, log)
		if err != nil {
			return fmt.Errorf("-webhook: %w", err)
		}
		defer stop()
	}
	mux := http.NewServeMux()
	panel.Mount(mux)
	panel.REST.Mount(mux)
	chat.Mount(mux, net)

	return runParts(ctx, map[string]func(context.Context) error{
		"frames": net.Run,
		"chatter": func(ctx context.Context) error {
			if o.chatter <= 0 {
				return nil
			}
			return groupchat.Chatter(ctx, net, o.chatter, o.network.Seed, log)
		},
		"rpc": func(ctx context.Context) error {
			if o.rpc == "" {
				return nil
			}
			listener, err := listenRPC(ctx, o)
			if err != nil {
				return err
			}
			announce(stdout, log, "rpc", rpcURL(listener.Addr()))
			return panel.RPC.Run(ctx, listener)
		},
		"rest": func(ctx context.Context) error {
			if latency.Sleep(ctx, o.network.Quirks.Duration("late_listen")) != nil {
				return nil
			}
			listener, err := serve.Listen(ctx, o.listen, o.remote)
			if err != nil {
				return err
			}
			announce(stdout, log, "rest", "http://"+listener.Addr().String())
			return serve.Run(ctx, listener, serve.Options{Handler: control.SameOrigin(mux), Log: log})
		},
	})
}
