package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	"rsc.io/qr"

	"quartet/kit/timing"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/config"
	"quartet/services/botd/internal/transport"
)

const (
	// linkTimeout is how long somebody has to scan the code.
	linkTimeout = 5 * time.Minute

	profileTimeout = 30 * time.Second

	defaultDevice = "botd"
)

// account opens the way to Signal for one call.
func account(environ []string) (config.Config, *signalLink, error) {
	cfg, err := config.Parse(environ)
	if err != nil {
		return cfg, nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	cfg.WebhookAddr, cfg.WebhookToken, cfg.SpoolDir = "", "", "" // a running bot has them
	in, err := timing.New(noop.NewMeterProvider(), nil)
	if err != nil {
		return cfg, nil, err
	}
	counters, err := bot.NewCounters(noop.NewMeterProvider())
	if err != nil {
		return cfg, nil, err
	}
	link, err := openSignal(cfg, in, counters, slog.New(slog.DiscardHandler))
	if err != nil {
		return cfg, nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	return cfg, link, nil
}

// linker is a server that can become a device of somebody's account.
type linker interface {
	Link(ctx context.Context, device string, show func(uri string)) error
}

// linkDevice makes signal-cli a device of the account of whoever scans the code.
func linkDevice(ctx context.Context, args, environ []string, stdout io.Writer) error {
	if len(args) > 1 || len(args) == 1 && !isName(args[0]) {
		return fmt.Errorf("%w: botd link takes one name, see botd help", errUsage)
	}
	device := defaultDevice
	if len(args) == 1 {
		device = args[0]
	}
	_, link, err := account(environ)
	if err != nil {
		return err
	}
	defer link.close()
	ctx, cancel := context.WithTimeout(ctx, linkTimeout)
	defer cancel()
	err = link.Transport.(linker).Link(ctx, device, func(uri string) { showCode(stdout, uri) })
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "linked as %q\n", device)
	return nil
}

// showCode prints a link as a QR code, two rows of it a line, and as text.
func showCode(out io.Writer, uri string) {
	code, err := qr.Encode(uri, qr.L)
	if err != nil {
		fmt.Fprintln(out, uri) // too long for a code: it can still be pasted
		return
	}
	const quiet = 4 // blank modules around the code, by its standard
	black := func(x, y int) bool { return code.Black(x-quiet, y-quiet) }
	var picture strings.Builder
	for y := 0; y < code.Size+2*quiet; y += 2 {
		for x := range code.Size + 2*quiet {
			// Light is drawn and dark left out: so it reads on dark terminals, and
			// scanners take the reverse as well.
			picture.WriteString([]string{"█", "▀", "▄", " "}[index(black(x, y), black(x, y+1))])
		}
		picture.WriteByte('\n')
	}
	fmt.Fprintf(out, "%s\nIn Signal on the telephone: Settings, Linked devices, +, and scan this. Or open there:\n%s\n", picture.String(), uri)
}

// index is 0 for two light modules, one above the other, 1 for light above dark,
// 2 for dark above light, 3 for two dark ones.
func index(above, below bool) int {
	i := 0
	if above {
		i += 2
	}
	if below {
		i++
	}
	return i
}

// setProfile gives the account the name that people see.
func setProfile(ctx context.Context, args, environ []string, stdout io.Writer) error {
	if len(args) != 1 || !isName(args[0]) {
		return fmt.Errorf("%w: botd profile takes a name, see botd help", errUsage)
	}
	_, link, err := account(environ)
	if err != nil {
		return err
	}
	defer link.close()
	ctx, cancel := context.WithTimeout(ctx, profileTimeout)
	defer cancel()
	if err := link.SetProfile(ctx, transport.Profile{Name: args[0]}); err != nil {
		return fmt.Errorf("set the profile: %w", err)
	}
	fmt.Fprintf(stdout, "people see %q now\n", args[0])
	return nil
}

// isName refuses what is rather a flag: nobody means to be called --help.
func isName(arg string) bool { return strings.TrimSpace(arg) != "" && !strings.HasPrefix(arg, "-") }
