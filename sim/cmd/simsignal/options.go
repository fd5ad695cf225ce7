package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"quartet/sim/internal/latency"
	"quartet/sim/internal/signalnet"
)

// seedLatencies are the times measured on the live bot on 2026-08-29: an
// attachment took 2,648 ms to send. A text alone was never measured: its
// 400 ms are a guess, as is the spread of both.
const seedLatencies = "send_attachment=2648ms~0.05,send_text=400ms~0.1"

type options struct {
	listen, rpc, webhook string
	remote               bool
	chatter              time.Duration
	network              signalnet.Options
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var groups, quirks, latencies, mode string
	var seeded bool
	f := flag.NewFlagSet("simsignal", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`address` of REST, websocket, page and control; port 0 picks one")
	f.StringVar(&o.rpc, "rpc", "", "`address` of signal-cli's JSON-RPC, e.g. 127.0.0.1:7583, or unix:///path of a socket; empty = none")
	f.StringVar(&o.webhook, "webhook", "", "`URL` to post every frame to, as RECEIVE_WEBHOOK_URL does; empty = none")
	f.BoolVar(&o.remote, "allow-remote", false, "permit addresses that other machines can reach")
	f.StringVar(&o.network.Number, "number", "+15550100000", "`number` of the bot's account")
	f.StringVar(&groups, "groups", "Koty,testbot", "`names` of the groups; the first is the one on the page")
	f.StringVar(&mode, "receive-mode", string(signalnet.OnStart), "when frames are received: on-start, on-connection or manual; other than on-start plays a daemon that the bot talks JSON-RPC to")
	f.StringVar(&quirks, "quirks", "", "`list` of quirks, name,name=value; GET /_sim/quirks?describe=1 explains them")
	f.BoolVar(&seeded, "seed-latencies", false, "use the latencies measured on the live bot: "+seedLatencies+" (send_text and the spreads are guesses)")
	f.StringVar(&latencies, "latency", "", "`list` of latencies, operation=MEDIAN or operation=MEDIAN~JITTER, of "+strings.Join(signalnet.Operations(), ", ")+"; default 0")
	f.Uint64Var(&o.network.Seed, "rand-seed", 1, "`seed` of everything random")
	f.DurationVar(&o.chatter, "chatter", 0, "let synthetic people write about once in this `time`; 0 = never")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	o.network.Mode = signalnet.ReceiveMode(mode)
	if !slices.Contains([]signalnet.ReceiveMode{signalnet.OnStart, signalnet.OnConnection, signalnet.Manual}, o.network.Mode) {
		return o, fmt.Errorf("-receive-mode %s: want on-start, on-connection or manual", mode)
	}
	if o.webhook != "" && o.network.Mode != signalnet.OnStart {
		return o, fmt.Errorf("-webhook: signal-cli-rest-api receives on-start, not %s", mode)
	}
	for i, name := range strings.Split(groups, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return o, errors.New("-groups: a name is empty")
		}
		if i == 0 {
			o.network.Groups = append(o.network.Groups, signalnet.DemoGroup(name))
		} else {
			o.network.Groups = append(o.network.Groups, signalnet.NamedGroup(name))
		}
	}
	return o, o.tables(quirks, latencies, seeded)
}

// tables fills the quirks and latencies; those are what a reset goes back to.
func (o *options) tables(quirks, latencies string, seeded bool) error {
	o.network.Quirks = signalnet.Quirks()
	o.network.Latency = latency.NewTable(o.network.Seed, signalnet.Operations()...)
	if err := o.network.Quirks.ParseList(quirks); err != nil {
		return fmt.Errorf("-quirks: %w", err)
	}
	if seeded {
		latencies = seedLatencies + "," + latencies
	}
	if err := o.network.Latency.ParseList(latencies); err != nil {
		return fmt.Errorf("-latency: %w", err)
	}
	o.network.Quirks.Freeze()
	o.network.Latency.Freeze()
	return nil
}
