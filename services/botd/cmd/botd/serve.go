package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"quartet/kit/journal/disk"
	"quartet/kit/pool"
	"quartet/kit/telemetry"
	"quartet/kit/timing"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/config"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
	"quartet/services/botd/internal/upstream"
)

// flushTimeout bounds the last export of telemetry.
const flushTimeout = 5 * time.Second

// serve runs the bot until ctx ends.
func serve(ctx context.Context, environ []string, stderr io.Writer) (err error) {
	cfg, err := config.Parse(environ)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	log := telemetry.Logger(stderr, cfg.LogLevel, "botd", version())

	var b *bot.Bot
	tel, err := telemetry.Start(ctx, telemetry.Options{
		Service:   "botd",
		Version:   version(),
		AdminAddr: cfg.AdminAddr,
		Pprof:     cfg.Pprof,
		Log:       log,
		Ready:     func(ctx context.Context) error { return b.Ready(ctx) },
		Routes: func(mux *http.ServeMux) {
			mux.HandleFunc("POST /_selftest", func(w http.ResponseWriter, r *http.Request) { b.Selftest(w, r) })
		},
	})
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
	kept, err := ledger.Open(disk.OS{}, ledger.Options{Dir: cfg.StateDir, Always: cfg.Sync == "always"})
	if err != nil {
		return fmt.Errorf("BOTD_STATE_DIR: %w", err)
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	link, err := openSignal(cfg, tel.Instruments, counters)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	defer func() { err = errors.Join(err, link.close()) }()
	if kept.Durable() && cfg.Sync == "always" && !link.Traits().PressesBack {
		log.LogAttrs(ctx, slog.LevelWarn, "BOTD_SYNC=always lets the reader wait for the disk, and Signal's server loses what it cannot hand on meanwhile: "+
			"use a signal-cli of tcp:// or unix://, or BOTD_SYNC=group")
	}
	if b, err = build(cfg, link, kept, tel.Instruments, counters, log); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	log.LogAttrs(ctx, slog.LevelInfo, "started", slog.String("admin", tel.Addr()), slog.Int("limit", cfg.Limit),
		slog.Any("upstream_exceptions", cfg.UpstreamAllow))

	// The admin server and what takes posts outlive the bot: its draining can
	// be watched, and posts in the meantime are counted. Without them it ends.
	beside, stopBeside := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBeside()
	run, stopRun := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error { defer stopRun(); return tel.Serve(beside) })
	g.Go(func() error { defer stopRun(); return link.run(beside) })
	err = b.Run(run)
	stopBeside()
	err = errors.Join(err, g.Wait())
	log.LogAttrs(ctx, slog.LevelInfo, "stopped", slog.Any("err", err))
	return err
}

// build puts the bot together: the edges, then the commands, then the core.
func build(cfg config.Config, signal transport.Transport, kept *ledger.Ledger, in *timing.Instruments, counters *bot.Counters, log *slog.Logger) (*bot.Bot, error) {
	reader, err := asked.NewReader(cfg.Prefixes, asked.Self{Number: cfg.Number})
	if err != nil {
		return nil, err
	}
	lang, err := said.ParseLang(cfg.Lang)
	if err != nil {
		return nil, err
	}
	guard := upstream.NewGuard(cfg.UpstreamAllow, net.Dialer{Timeout: 5 * time.Second})
	api := pool.New("thecatapi", pool.Options{MaxConns: cfg.Limit, Dial: guard.Dial, Start: in.Peer("thecatapi").StartUpstream})
	wikimedia := pool.New("commons", pool.Options{MaxConns: 1, Dial: guard.Dial, Start: in.Peer("commons").StartUpstream})
	files := pool.New("pictures", pool.Options{MaxConns: cfg.Limit, MaxRedirects: 3, Dial: guard.Dial, Start: in.Peer("pictures").StartUpstream})
	for _, c := range []*pool.Client{api, wikimedia, files} {
		in.ObservePool(c)
	}

	pictures := upstream.NewPictures(cfg.UserAgent, files) // one for both: it remembers who asked to be left alone
	cats := upstream.NewCatAPI(&cfg.CatURL, string(cfg.CatKey), cfg.UserAgent, api, pictures)
	commons := upstream.NewCommons(&cfg.CommonsURL, cfg.UserAgent, wikimedia, pictures)
	prefix, tally := cfg.Prefixes[0], command.NewTally()
	zapomnij := command.Zapomnij(lang, tally)
	kot, obraz := command.Kot(lang, cats.Random), command.Obraz(lang, commons.Find)
	ja := command.Ja(lang, prefix+zapomnij.Name)
	commands := []*command.Command{command.Pomoc(lang, prefix, kot, obraz, ja, zapomnij), kot, obraz, ja, zapomnij}
	for _, c := range commands {
		c.Cooldown = time.Duration(cfg.Cooldown)
	}
	return bot.New(bot.Parts{
		Signal:      signal,
		Number:      cfg.Number,
		Reader:      reader,
		Lang:        lang,
		Commands:    command.NewRegistry(lang, prefix, commands...),
		Tally:       tally,
		Ledger:      kept,
		Instruments: in,
		Counters:    counters,
		Log:         log,
	}, bot.Options{
		Limit:          cfg.Limit,
		BacklogBytes:   int64(cfg.BacklogBytes),
		SenderWaiting:  cfg.SenderWaiting,
		CommandTimeout: time.Duration(cfg.CommandTimeout),
		SendTimeout:    time.Duration(cfg.SendTimeout),
		DrainTimeout:   time.Duration(cfg.DrainTimeout),
		Quote:          cfg.Quote,
		SelftestGroup:  cfg.SelftestGroup,
	}), nil
}
