package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/metric/noop"

	"quartet/kit/journal/disk"
	"quartet/kit/timing"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/config"
)

// connectTimeout bounds what check asks of Signal's server.
const connectTimeout = 15 * time.Second

// check explains what the bot would do with its configuration, whether it could
// use its folder, and with --connect whether Signal's server would have it.
func check(ctx context.Context, args, environ []string, stdout io.Writer) error {
	connect := len(args) == 1 && args[0] == "--connect"
	if len(args) > 0 && !connect {
		return fmt.Errorf("%w: botd check takes --connect and nothing else, see botd help", errUsage)
	}
	cfg, err := config.Parse(environ)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	dry := cfg
	dry.StateDir, dry.WebhookAddr, dry.SpoolDir = "", "", "" // a running bot has them; the folders are looked at apart
	in, err := timing.New(noop.NewMeterProvider(), nil)
	if err != nil {
		return err
	}
	counters, err := bot.NewCounters(noop.NewMeterProvider())
	if err != nil {
		return err
	}
	kept, err := openState(disk.OS{}, dry, in)
	if err != nil {
		return err
	}
	if cfg.SpoolDir != "" {
		if err := (glance{}).MkdirAll(cfg.SpoolDir); err != nil {
			return fmt.Errorf("%w: BOTD_SPOOL_DIR: %w", errUsage, err)
		}
	}
	quiet := slog.New(slog.DiscardHandler)
	link, err := openSignal(dry, in, counters, quiet)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	defer link.close()
	w, err := build(dry, link, kept, in, counters, quiet, true)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	folder := "in memory, forgotten at a restart"
	if cfg.StateDir != "" {
		found := ""
		if found, err = lookAtState(cfg, in); err != nil {
			found = "a start would fail"
		}
		folder = cfg.StateDir + ", synced " + cfg.Sync + "\n             " + found
	}
	explain(stdout, cfg, folder, w.menu.Load())
	if connect {
		err = errors.Join(err, tryServer(ctx, link, stdout))
	}
	return err
}

func explain(out io.Writer, cfg config.Config, folder string, m *menu) {
	fmt.Fprintf(out, "account      %s\n", cfg.Number)
	fmt.Fprintf(out, "signal       %s (%s)\n             %s\n", cfg.SignalURL.Redacted(), connection(cfg), promise(cfg))
	fmt.Fprintf(out, "groups       %s\n", listed(cfg.Groups, "none, until an admin allows one"))
	fmt.Fprintf(out, "admins       %s\n", listed(cfg.Admins, "none"))
	fmt.Fprintf(out, "direct chats %s\n", map[bool]string{true: "everybody's", false: "admins' only"}[cfg.Direct])
	fmt.Fprintf(out, "state        %s\n", folder)
	fmt.Fprintf(out, "at once      %d commands; up to %s wait, then %s\n", cfg.Limit, cfg.BacklogBytes, overflow(cfg))
	fmt.Fprintln(out, "\ncommands")
	width := 28
	for _, c := range m.registry.All() {
		width = max(width, utf8.RuneCountInString(m.registry.Usage(c)))
	}
	for _, c := range m.registry.All() {
		fmt.Fprintf(out, "  %-*s %s\n", width, m.registry.Usage(c), strings.Join(traits(c), "; "))
	}
	if len(m.file.Schedules) > 0 {
		fmt.Fprintln(out, "\nschedules")
	}
	for _, s := range m.file.Schedules {
		what := "a text"
		if s.Command != "" {
			what = strings.TrimSpace(cfg.Prefixes[0] + s.Command + " " + s.Words)
		}
		fmt.Fprintf(out, "  %-28s %s, chats: %d, next %s\n", s.Name, what, len(s.Chats), s.Plan.Next(time.Now()).Format("Mon 2 Jan 2006 15:04 MST"))
	}
	for _, d := range doubts(cfg) {
		fmt.Fprintf(out, "\nwarning: %s\n", d)
	}
}

// overflow is what happens to what finds no room.
func overflow(cfg config.Config) string {
	switch {
	case cfg.DaemonAddress() != "":
		return "signal-cli does"
	case cfg.StateDir == "" || cfg.SpillBytes == 0:
		return "what comes is dropped and counted"
	}
	return "on disk up to " + cfg.SpillBytes.String()
}

func listed(all []string, none string) string {
	if len(all) == 0 {
		return none
	}
	return strings.Join(all, ", ")
}

// traits are what limits the use of a command.
func traits(c *command.Command) []string {
	var all []string
	add := func(is bool, format string, args ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	add(c.Admins, "admins")
	add(len(c.People) > 0, "people: %d", len(c.People))
	add(c.Where == command.InGroups, "in groups")
	add(c.Where == command.InDirect, "in direct chats")
	add(len(c.Groups) > 0, "groups: %d", len(c.Groups))
	l := c.Limits
	for _, each := range []struct {
		what string
		wait time.Duration
	}{{"each person", l.User}, {"each person in each group", l.UserGroup}, {"each group", l.Group}, {"all together", l.Command}, {"all together, whatever command", l.Global}} {
		add(each.wait > 0, "every %s for %s", each.wait, each.what)
	}
	return all
}

func tryServer(ctx context.Context, link *signalLink, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	warnings, err := link.Check(ctx)
	for _, w := range warnings {
		fmt.Fprintf(out, "\nwarning: %s\n", w.Text)
	}
	if err != nil {
		return fmt.Errorf("the server would not have us: %w", err)
	}
	fmt.Fprintln(out, "\nthe server is there and knows the account")
	return nil
}
