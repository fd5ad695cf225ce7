// Command simweb plays the services that a bot gets pictures from: TheCatAPI's
// search, and the pictures, which it draws itself. It is steered under /_sim/.
// It is for tests and demonstrations.
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

	"quartet/sim/internal/catapi"
	"quartet/sim/internal/control"
	"quartet/sim/internal/serve"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "simweb:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. The address that is listened on becomes a line
// on stdout ("web http://…"), so that port 0 can be used.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(stderr, nil)).With(slog.String("service", "simweb"))
	api := catapi.New(o.api)
	mux := http.NewServeMux()
	control.Mount(mux, o.api.Quirks, o.api.Latency)
	api.Mount(mux)
	listener, err := serve.Listen(ctx, o.listen, o.remote)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	fmt.Fprintln(stdout, "web", url)
	log.Info("listening", slog.String("surface", "web"), slog.String("url", url))
	err = serve.Run(ctx, listener, serve.Options{Handler: control.SameOrigin(mux), Log: log, ConnState: api.ConnState})
	log.Info("stopped")
	return err
}
