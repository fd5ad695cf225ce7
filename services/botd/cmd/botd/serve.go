package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"quartet/kit/journal/disk"
	"quartet/kit/sdnotify"
	"quartet/kit/telemetry"
	"quartet/kit/timing"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/config"
	"quartet/services/botd/internal/outbox"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/schedule"
	"quartet/services/botd/internal/transport"
	"quartet/services/botd/internal/upstream"
)

const (
	flushTimeout = 5 * time.Second  // bounds the last export of telemetry
	stopMargin   = 20 * time.Second // for what a stop does beside draining

	// gcPercent lets garbage grow to twice the live heap, which is 12 MiB at
	// most in ordinary times: each collection keeps a processor busy for
	// milliseconds, in which commands wait. More would not fit into 64 MiB when
	// frames come at full speed.
	gcPercent = 200
)

// serve runs the bot until ctx ends.
func serve(ctx context.Context, environ []string, stderr io.Writer) (err error) {
	hangUps := catchHangUps()
	cfg, err := config.Parse(environ)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	log := telemetry.Logger(stderr, cfg.LogLevel, "botd", version())
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}

	var w *waiter
	tel, err := telemetry.Start(ctx, telemetry.Options{
		Service:   "botd",
		Version:   version(),
		AdminAddr: string(cfg.AdminAddr),
		Pprof:     cfg.Pprof,
		Log:       log,
		Ready:     func(ctx context.Context) error { return w.bot.Ready(ctx) },
		Routes: func(mux *http.ServeMux) {
			mux.HandleFunc("POST /_selftest", func(rw http.ResponseWriter, r *http.Request) { w.bot.Selftest(rw, r) })
		},
	})
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "listen" {
		return fmt.Errorf("BOTD_ADMIN_ADDR: %w", err)
	}
	if errors.Is(err, telemetry.ErrEnvironment) {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if err != nil {
		return err
	}
	defer func() {
		flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := tel.Shutdown(flush); err != nil {
			log.LogAttrs(flush, slog.LevelWarn, "telemetry not flushed", slog.Any("err", err))
		}
	}()
	counters, err := bot.NewCounters(tel.MeterProvider)
	if err != nil {
		return err
	}
	kept, err := openState(disk.OS{}, cfg, tel.Instruments)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.close()) }()
	link, err := openSignal(cfg, tel.Instruments, counters, log)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	defer func() { err = errors.Join(err, link.close()) }()
	if w, err = build(cfg, link, kept, tel.Instruments, counters, log, false); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	w.hangUps = hangUps
	systemd, err := sdnotify.New(os.Getenv)
	if err != nil {
		return err
	}
	greet(ctx, cfg, w, tel.Addr())
	err = w.run(ctx, link, tel.Serve, func(ctx context.Context) {
		systemd.Run(ctx, sdnotify.Service{
			Ready: tel.Ready,
			Alive: func(ready error) bool { return !errors.Is(ready, telemetry.ErrNoVerdict) },
			Stop:  time.Duration(cfg.DrainTimeout) + stopMargin,
			Log:   log,
		})
	})
	log.LogAttrs(ctx, slog.LevelInfo, "stopped", slog.Any("err", err))
	return err
}

// greet says how the bot starts, and what its operator may not have meant.
func greet(ctx context.Context, cfg config.Config, w *waiter, admin string) {
	for _, warning := range doubts(cfg) {
		w.log.LogAttrs(ctx, slog.LevelWarn, warning)
	}
	file := w.menu.Load().file
	w.log.LogAttrs(ctx, slog.LevelInfo, "started", slog.String("admin", admin), slog.String("signal", connection(cfg)), slog.Int("limit", cfg.Limit),
		slog.Int("own_commands", len(file.Commands)), slog.Int("schedules", len(file.Schedules)), slog.Any("upstream_exceptions", cfg.UpstreamAllow))
}

// run runs the bot, and beside it what it needs. The admin server and what
// takes posts outlive it: its draining can be watched, and posts in the meantime
// are counted. Without them it ends.
func (w *waiter) run(ctx context.Context, link *signalLink, admin func(context.Context) error, tell func(context.Context)) error {
	beside, stopBeside := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBeside()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var outer, inner errgroup.Group
	outer.Go(func() error { defer stop(); return admin(beside) })
	outer.Go(func() error { defer stop(); return link.run(beside) })
	inner.Go(func() error { tell(ctx); return nil })
	inner.Go(func() error { return w.watch(ctx) })
	inner.Go(func() error { return w.upstreams.cats.Run(ctx) })
	inner.Go(func() error {
		w.state.schedule.Run(ctx, schedule.Options{Jobs: w.schedules, Fire: w.fire, Log: w.log})
		return nil
	})
	err := w.bot.Run(ctx)
	stop()
	err = errors.Join(err, inner.Wait())
	stopBeside()
	return errors.Join(err, outer.Wait())
}

// build puts the bot together: the edges, then the commands, then the core.
func build(cfg config.Config, signal transport.Transport, kept *state, in *timing.Instruments, counters *bot.Counters, log *slog.Logger, offline bool) (*waiter, error) {
	reader, err := asked.NewReader(cfg.Prefixes, asked.Self{Number: cfg.Number})
	if err != nil {
		return nil, err
	}
	lang, err := said.ParseLang(cfg.Lang)
	if err != nil {
		return nil, err
	}
	asks, err := openUpstreams(cfg, in, log)
	if err != nil {
		return nil, err
	}
	w := &waiter{kitchen: &kitchen{cfg: cfg, lang: lang, state: kept, upstreams: asks, signal: signal, offline: offline}, log: log}
	first, err := w.cook()
	if err != nil {
		return nil, err
	}
	w.menu.Store(first)
	out := outbox.New(outbox.Parts{
		Signal:    signal,
		OnRefused: counters.Refused,
		OnWait:    in.LockWait("botd.chats"),
		Shrink:    upstream.NewShrinker().Shrink,
		Log:       log,
	}, outbox.Options{
		Trust:        cfg.TrustNew,
		Profile:      transport.Profile{Name: cfg.ProfileName},
		RatePause:    time.Duration(cfg.RatePause),
		PictureBurst: cfg.PictureBurst,
		PictureEvery: time.Duration(cfg.PictureEvery),
	})
	w.bot = bot.New(bot.Parts{
		Signal:      signal,
		Number:      cfg.Number,
		Reader:      reader,
		Lang:        lang,
		Commands:    first.registry,
		Out:         out,
		Store:       kept.store,
		Ledger:      kept.ledger,
		Spill:       kept.spill,
		Gate:        kept.gate,
		People:      kept.people,
		Rules:       kept.rules,
		Heard:       kept.heard,
		Instruments: in,
		Counters:    counters,
		Log:         log,
	}, bot.Options{
		Limit:             cfg.Limit,
		BacklogBytes:      int64(cfg.BacklogBytes),
		SenderWaiting:     cfg.SenderWaiting,
		CommandTimeout:    time.Duration(cfg.CommandTimeout),
		SendTimeout:       time.Duration(cfg.SendTimeout),
		DrainTimeout:      time.Duration(cfg.DrainTimeout),
		MaxAge:            time.Duration(cfg.MaxAge),
		Quote:             cfg.Quote,
		Ack:               cfg.Ack,
		DeleteAttachments: cfg.DeleteAttachments,
		SelftestGroup:     cfg.SelftestGroup,
		Admins:            cfg.Admins,
		Groups:            cfg.Groups,
		EveryGroup:        cfg.EveryGroup(),
		Direct:            cfg.Direct,
	})
	return w, nil
}
