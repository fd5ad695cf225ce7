// Command simbus plays the programs on a message bus: a weather station that
// publishes signals, has properties and answers calls, and listeners who
// subscribe and call. It is steered under /_sim/. It is for tests and
// demonstrations.
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
	"strconv"
	"sync"
	"syscall"

	"quartet/sim/internal/control"
	"quartet/sim/internal/serve"
	"quartet/sim/internal/weatherbus"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "simbus:", err)
		os.Exit(1)
	}
}

// run plays until ctx ends. The address that is listened on becomes a line on
// stdout ("control http://…"), so that port 0 can be used. The arguments
// "healthcheck [URL]" ask a running one instead.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "healthcheck" {
		return serve.Healthcheck(ctx, args[1:], "http://127.0.0.1:8082/_sim/health")
	}
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(stderr, nil)).With(slog.String("service", "simbus"))
	o.play.Log = log
	listener, err := serve.Listen(ctx, o.listen, o.remote)
	if err != nil {
		return err
	}
	play := weatherbus.New(o.play)
	mux := http.NewServeMux()
	mount(mux, o, play)
	url := "http://" + listener.Addr().String()
	fmt.Fprintln(stdout, "control", url)
	log.Info("listening", slog.String("surface", "control"), slog.String("url", url))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var playing sync.WaitGroup
	playing.Go(func() { play.Run(ctx) })
	err = serve.Run(ctx, listener, serve.Options{Handler: control.SameOrigin(mux), Log: log})
	cancel()
	playing.Wait()
	log.Info("stopped")
	return err
}

// maxBurst bounds one burst.
const maxBurst = 1_000_000

// mount adds what is under /_sim/.
func mount(mux *http.ServeMux, o options, play *weatherbus.Play) {
	control.Mount(mux, o.play.Quirks, o.play.Latency)
	mux.HandleFunc("GET /_sim/stats", func(w http.ResponseWriter, _ *http.Request) { control.Answer(w, http.StatusOK, play.Stats()) })
	mux.HandleFunc("GET /_sim/health", func(w http.ResponseWriter, _ *http.Request) {
		if !play.Connected() {
			control.Fail(w, http.StatusServiceUnavailable, errors.New("not everybody is on the bus"))
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /_sim/burst", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("count"))
		if err != nil || n < 1 || n > maxBurst {
			control.Fail(w, http.StatusBadRequest, fmt.Errorf("count: want 1 to %d", maxBurst))
			return
		}
		if err := play.Burst(n); err != nil {
			control.Fail(w, http.StatusTooManyRequests, err)
			return
		}
		control.Answer(w, http.StatusAccepted, map[string]int{"queued": n})
	})
	mux.HandleFunc("POST /_sim/reset", func(w http.ResponseWriter, _ *http.Request) {
		o.play.Quirks.Reset()
		o.play.Latency.Reset()
		play.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
}
