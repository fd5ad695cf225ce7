// Command simweb plays the services that a bot asks: TheCatAPI's search, the
// search of Wikimedia Commons, the pictures, which it draws itself, and small
// ones of the kind that people hang on a bot. It is steered under /_sim/.
// It is for tests and demonstrations.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"quartet/sim/internal/catapi"
	"quartet/sim/internal/commons"
	"quartet/sim/internal/control"
	"quartet/sim/internal/serve"
	"quartet/sim/internal/webapi"
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

// run serves until ctx ends. Each address that is listened on becomes a line
// on stdout ("web http://…", "upload http://…"), so that port 0 can be used.
// The arguments "healthcheck [URL]" ask a running one instead.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "healthcheck" {
		return serve.Healthcheck(ctx, args[1:], "http://127.0.0.1:8081/_sim/stats")
	}
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(stderr, nil)).With(slog.String("service", "simweb"))
	listeners, err := listen(ctx, &o)
	if err != nil {
		return err
	}
	api := catapi.New(o.api)
	o.commons.Picture = api.Picture
	wiki := commons.New(o.commons)
	small := webapi.New(o.api.Quirks, o.api.Latency)
	mux := http.NewServeMux()
	mountControl(mux, o, api, wiki, small)
	api.Mount(mux)
	wiki.Mount(mux)
	small.Mount(mux)
	for i, l := range listeners {
		name, url := []string{"web", "upload"}[i], "http://"+l.Addr().String()
		fmt.Fprintln(stdout, name, url)
		log.Info("listening", slog.String("surface", name), slog.String("url", url))
	}
	err = serveAll(ctx, listeners, serve.Options{Handler: control.SameOrigin(mux), Log: log, ConnState: api.ConnState})
	log.Info("stopped")
	return err
}

// listen opens the address of everything, and the one for thumbnails, at which
// these are then told to be.
func listen(ctx context.Context, o *options) ([]net.Listener, error) {
	web, err := serve.Listen(ctx, o.listen, o.remote)
	if err != nil {
		return nil, err
	}
	if o.upload == "" {
		return []net.Listener{web}, nil
	}
	upload, err := serve.Listen(ctx, o.upload, o.remote)
	if err != nil {
		_ = web.Close()
		return nil, err
	}
	if o.commons.UploadURL == "" {
		o.commons.UploadURL = "http://" + upload.Addr().String()
	}
	return []net.Listener{web, upload}, nil
}

// serveAll serves the same on all listeners, until ctx ends or one of them fails.
func serveAll(ctx context.Context, listeners []net.Listener, o serve.Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make([]error, len(listeners))
	var wg sync.WaitGroup
	for i, l := range listeners {
		wg.Go(func() {
			failed[i] = serve.Run(ctx, l, o)
			cancel()
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

// mountControl adds what is under /_sim/.
func mountControl(mux *http.ServeMux, o options, api *catapi.API, wiki *commons.API, small *webapi.API) {
	control.Mount(mux, o.api.Quirks, o.api.Latency)
	mux.HandleFunc("GET /_sim/stats", func(w http.ResponseWriter, _ *http.Request) {
		stats := api.Stats()
		maps.Copy(stats, wiki.Stats())
		maps.Copy(stats, small.Stats())
		control.Answer(w, http.StatusOK, stats)
	})
	mux.HandleFunc("POST /_sim/reset", func(w http.ResponseWriter, _ *http.Request) {
		o.api.Quirks.Reset()
		o.api.Latency.Reset()
		api.Reset()
		wiki.Reset()
		small.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
}
