package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof" // registers itself with http.DefaultServeMux, which nothing of ours serves
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds of the admin server. Writing may take long: a service's self-test and
// profiles of half a minute answer there.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 2 * time.Minute
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
	scrapeTimeout     = 10 * time.Second
	graceTimeout      = 5 * time.Second // for requests under way when Serve's context ends
)

// listen makes the admin server and its listener.
func (t *Telemetry) listen(ctx context.Context, o Options, registry *prometheus.Registry) error {
	if o.AdminAddr == "" {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.AdminAddr)
	if err != nil {
		return fmt.Errorf("listen for the admin server: %w", err)
	}
	t.listener = listener
	t.server = &http.Server{
		Handler:           t.adminMux(o, registry),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	return nil
}

func (t *Telemetry) adminMux(o Options, registry *prometheus.Registry) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", t.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
		ErrorHandling:     promhttp.ContinueOnError, // one bad series hides no other
		EnableOpenMetrics: true,                     // exemplars travel in no other format
		CoalesceGather:    true,
		Timeout:           scrapeTimeout,
	}))
	if o.Pprof {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	if o.Routes != nil {
		o.Routes(mux)
	}
	return mux
}

// Ready asks what GET /readyz asks: why the service cannot work, or nil.
func (t *Telemetry) Ready(ctx context.Context) error { return t.ready.ask(ctx) }

// readyz answers 200 "ready", or 503 and the reason.
func (t *Telemetry) readyz(w http.ResponseWriter, r *http.Request) {
	if err := t.Ready(r.Context()); err != nil {
		plain(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	plain(w, http.StatusOK, "ready")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // whoever asked may be gone
}

// Addr is the address the admin server listens on, "" if there is none.
func (t *Telemetry) Addr() string {
	if t.listener == nil {
		return ""
	}
	return t.listener.Addr().String()
}

// Serve answers on the admin address until ctx ends or Shutdown is called; then
// requests under way have five seconds. Without an admin server it just waits
// for ctx. Call it once.
func (t *Telemetry) Serve(ctx context.Context) error {
	if t.listener == nil {
		<-ctx.Done()
		return nil
	}
	served := make(chan error, 1)
	go func() { served <- t.server.Serve(t.listener) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTimeout)
		defer cancel()
		if t.server.Shutdown(grace) != nil {
			_ = t.server.Close() // their time is up
		}
		err = <-served
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve admin: %w", err)
	}
	return nil
}
