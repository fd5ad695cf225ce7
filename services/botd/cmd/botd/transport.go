package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"quartet/kit/pool"
	"quartet/kit/timing"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/config"
	"quartet/services/botd/internal/signalapi"
	"quartet/services/botd/internal/signalrpc"
	"quartet/services/botd/internal/transport"
	"quartet/services/botd/internal/webhook"
)

// signalLink is the way to Signal that the configuration asks for.
type signalLink struct {
	transport.Transport
	run   func(ctx context.Context) error // what has to run beside it until ctx ends
	close func() error
}

// openSignal makes the way to Signal.
func openSignal(cfg config.Config, in *timing.Instruments, counters *bot.Counters, log *slog.Logger) (*signalLink, error) {
	send := in.Peer("signal").StartSend
	idle := &signalLink{
		run:   func(ctx context.Context) error { <-ctx.Done(); return nil },
		close: func() error { return nil },
	}
	if address := cfg.DaemonAddress(); address != "" {
		c, err := signalrpc.New(signalrpc.Options{Address: address, Number: cfg.Number, Spool: cfg.SpoolDir, Log: log, Start: send})
		if err != nil {
			return nil, fmt.Errorf("BOTD_SPOOL_DIR: %w", err)
		}
		idle.Transport, idle.close = c, c.Close
		return idle, nil
	}
	// A send takes as long as it takes: SendTimeout bounds it, through its context.
	// At once there may be Limit sends in slots, as many of replies that waited for
	// their chat, as many calls beside answers, and the check of readiness.
	calls := pool.New("signal", pool.Options{MaxConns: 3*cfg.Limit + 1, HeaderTimeout: -1, Timeout: -1, Start: send})
	in.ObservePool(calls)
	rest := signalapi.New(signalapi.Options{URL: &cfg.SignalURL, Number: cfg.Number}, calls)
	if cfg.WebhookAddr == "" {
		idle.Transport = rest
		return idle, nil
	}
	h, err := webhook.New(string(cfg.WebhookToken), counters.Missed, counters.Answered)
	if err != nil {
		return nil, fmt.Errorf("BOTD_WEBHOOK_TOKEN_FILE: %w", err)
	}
	listener, err := net.Listen("tcp", string(cfg.WebhookAddr))
	if err != nil {
		return nil, fmt.Errorf("BOTD_WEBHOOK_ADDR: %w", err)
	}
	idle.Transport = struct {
		transport.Source
		transport.Sender
	}{h, rest}
	idle.run = func(ctx context.Context) error { return serveWebhook(ctx, listener, h, log) }
	idle.close = func() error { _ = listener.Close(); return nil } // run has done so, if it ran
	return idle, nil
}

// serveWebhook takes posts until ctx ends.
func serveWebhook(ctx context.Context, listener net.Listener, h http.Handler, log *slog.Logger) error {
	mux := http.NewServeMux()
	mux.Handle("/webhook", h)
	mux.Handle("/webhook/{token}", h)
	// The container posts one frame at a time and gives up on none, so what is
	// bounded here is how long others may hold a connection.
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the webhook: %w", err)
	}
	return nil
}
