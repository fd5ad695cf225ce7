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
	ask, asJSON, err := parseMeasure(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	client := &http.Client{Timeout: replyTimeout}
	samples, err := latency.Run(ctx, client, ask, progress(stderr, ask.Times))
	if err != nil {
		return fmt.Errorf("ask %s for a self-test: %w", ask.Target, err)
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

func parseMeasure(args []string, stderr io.Writer) (ask latency.Ask, asJSON bool, err error) {
	flags := flag.NewFlagSet("botd latency", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, latencyUsage)
		flags.PrintDefaults()
	}
	flags.StringVar(&ask.Text, "text", "!pomoc", "the command to ask")
	flags.IntVar(&ask.Times, "times", 20, "how many replies")
	picture := flags.Bool("picture", false, "ask !kot, whose reply has a picture")
	flags.BoolVar(&asJSON, "json", false, "print the report as JSON")
	targets, err := parseMixed(flags, args)
	switch {
	case err != nil:
		return ask, false, err
	case len(targets) != 1:
		return ask, false, errors.New("name one TARGET, as 127.0.0.1:9101")
	case ask.Times < 1:
		return ask, false, errors.New("--times must be 1 or more")
	}
	if *picture {
		ask.Text = "!kot"
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

// progress shows a person how far a run is; it is nil when nobody watches.
func progress(w io.Writer, times int) func(n int) {
	if !isTerminal(w) {
		return nil
	}
	return func(n int) {
		fmt.Fprintf(w, "\r%d of %d replies", n, times)
		if n == times {
			fmt.Fprint(w, "\r\x1b[K")
		}
	}
}
