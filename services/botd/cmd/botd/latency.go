package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"quartet/services/botd/internal/latency"
)

const latencyUsage = `Usage: botd latency TARGET [--text '!pomoc'] [--times 20] [--picture] [--json]

Asks a running bot for self-tests, one after another, and prints where the time
of each reply went. TARGET is where its admin server listens (BOTD_ADMIN_ADDR),
as 127.0.0.1:9101. The replies are really sent, into BOTD_SELFTEST_GROUP. The
command's cooldown is lifted for them by a lease that ends by itself.

The bot's own share (own_ms) must keep to 100 ms at the 95th percentile; else
the exit code is 1, as it is when a reply did not go out. round_trip_ms, which
has the time of Signal and of the public APIs in it, is reported and not judged.

`

// errOverBudget ends the process with exit code 1; the report has said why.
var errOverBudget = errors.New("over budget")

// replyTimeout bounds one self-test; a send alone may take a minute.
const replyTimeout = 2 * time.Minute

// measure is botd latency.
func measure(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	ask, asJSON, err := parseMeasure(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w; see botd latency --help", errUsage, err)
	}
	client := &http.Client{Timeout: replyTimeout}
	after, over := progress(stderr, ask.Times)
	samples, err := latency.Run(ctx, client, ask, after)
	over()
	if ctx.Err() != nil {
		return fmt.Errorf("stopped after %d of %d replies: %w", len(samples), ask.Times, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("ask %s for a self-test: %w", ask.Target.Redacted(), err)
	}
	report := latency.Summarize(ask.Text, samples)
	if asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(report)
	} else {
		err = report.WriteText(stdout)
	}
	if err == nil && !report.Passed() {
		err = errOverBudget
	}
	return err
}

// parseMeasure reads the arguments; it prints the help that they ask for.
func parseMeasure(args []string, stdout io.Writer) (ask latency.Ask, asJSON bool, err error) {
	flags := flag.NewFlagSet("botd latency", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are returned
	flags.StringVar(&ask.Text, "text", "", "the `command` to ask (default !pomoc)")
	flags.IntVar(&ask.Times, "times", 20, "how many replies")
	picture := flags.Bool("picture", false, "ask !kot, whose reply has a picture")
	flags.BoolVar(&asJSON, "json", false, "print the report as JSON")
	targets, err := parseMixed(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, latencyUsage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return ask, false, err
	case err != nil:
		return ask, false, err
	case len(targets) != 1:
		return ask, false, errors.New("name one TARGET, as 127.0.0.1:9101")
	case ask.Times < 1:
		return ask, false, errors.New("--times must be 1 or more")
	case *picture && ask.Text != "":
		return ask, false, errors.New("--picture asks !kot, so it takes no --text")
	case *picture:
		ask.Text = "!kot"
	case ask.Text == "":
		ask.Text = "!pomoc"
	}
	address := targets[0]
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	ask.Target, err = url.Parse(address)
	if err != nil || ask.Target.Host == "" {
		return ask, false, fmt.Errorf("%q is no address", targets[0])
	}
	return ask, asJSON, nil
}

// parseMixed parses flags that may stand before or behind the other arguments,
// which it returns.
func parseMixed(flags *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return rest, nil
		}
		rest = append(rest, flags.Arg(0))
		args = flags.Args()[1:]
	}
}

// progress shows a person how far a run is, and clears the line when it is
// over. It does nothing when nobody watches.
func progress(w io.Writer, times int) (after func(n int), over func()) {
	if !isTerminal(w) {
		return func(int) {}, func() {}
	}
	return func(n int) { fmt.Fprintf(w, "\r%d of %d replies", n, times) },
		func() { fmt.Fprint(w, "\r\x1b[K") }
}
