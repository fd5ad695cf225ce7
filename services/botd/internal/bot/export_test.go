package bot

import (
	"context"
	"log/slog"
	"math"
	"net/url"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"

	"quartet/kit/journal/disk"
	"quartet/kit/pool"
	"quartet/kit/timing"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/heard"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/outbox"
	"quartet/services/botd/internal/people"
	"quartet/services/botd/internal/rules"
	"quartet/services/botd/internal/signalapi"
	"quartet/services/botd/internal/spill"
	"quartet/services/botd/internal/store"
	"quartet/services/botd/internal/upstream"
)

// Remember returns the parts of a bot that remember, on a disk if dir is not "",
// and what closes them.
func Remember(tb testing.TB, fs disk.FS, dir string, spillBytes int64) (p Parts, end func()) {
	tb.Helper()
	w := store.New(fs, store.Options{Dir: dir})
	p.Store, p.Ledger, p.Gate, p.People, p.Rules, p.Heard = w, ledger.New(w), cooldown.New(w), people.New(w), rules.New(w), heard.New(w)
	if err := w.Open(p.Ledger, p.Gate, p.People, p.Rules, p.Heard); err != nil {
		tb.Fatal(err)
	}
	if err := p.Ledger.Recover(); err != nil {
		tb.Fatal(err)
	}
	if spillBytes > 0 {
		var err error
		if p.Spill, err = spill.Open(fs, dir+"/spill", spill.Options{MaxBytes: spillBytes, Safe: w.Sync}); err != nil {
			tb.Fatal(err)
		}
	}
	return p, sync.OnceFunc(func() {
		if err := w.Close(); err != nil {
			tb.Errorf("close the store: %v", err)
		}
		if p.Spill == nil {
			return
		}
		if err := p.Spill.Close(); err != nil {
			tb.Errorf("close the spill: %v", err)
		}
	})
}

// Serve gives the bot its commands and its way out.
func (p *Parts) Serve(tb testing.TB, o outbox.Options, commands ...*command.Command) {
	tb.Helper()
	if o.RatePause == 0 {
		o.RatePause = time.Minute
	}
	var err error
	if p.Commands, err = command.NewRegistry(command.Options{Lang: p.Lang, Prefix: "!", Switches: p.Rules}, commands...); err != nil {
		tb.Fatal(err)
	}
	p.Out = outbox.New(outbox.Parts{Signal: p.Signal, OnRefused: p.Counters.Refused, Shrink: upstream.NewShrinker().Shrink, Log: p.Log}, o)
}

// Idle is a bot that nobody runs.
type Idle struct{ bot *Bot }

// NewIdle returns a bot of the given number that measures nothing.
func NewIdle(tb testing.TB, number string, commands ...*command.Command) *Idle {
	tb.Helper()
	in, err := timing.New(nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	reader, err := asked.NewReader([]string{"!"}, asked.Self{Number: number})
	if err != nil {
		tb.Fatal(err)
	}
	counters, err := NewCounters(noop.NewMeterProvider())
	if err != nil {
		tb.Fatal(err)
	}
	p, _ := Remember(tb, nil, "", 0)
	p.Number, p.Reader, p.Instruments, p.Counters = number, reader, in, counters
	p.Signal = signalapi.New(signalapi.Options{URL: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Number: number}, pool.New("signal", pool.Options{}))
	p.Log = slog.New(slog.DiscardHandler)
	p.Serve(tb, outbox.Options{}, commands...)
	b := New(p, Options{Limit: 1, BacklogBytes: 1 << 20, SenderWaiting: 1, EveryGroup: true, Direct: true, MaxAge: math.MaxInt64})
	tb.Cleanup(b.accounts.Close)
	return &Idle{b}
}

// Triage is the reader's first stage; it tells whether raw is a command.
func (i *Idle) Triage(raw []byte, readAt time.Time) bool {
	return i.bot.triage(context.Background(), raw, readAt) != nil
}

// AbandonLate abandons what waits while one more message is on its way from
// the backlog to its turn, and returns how that ended.
func (i *Idle) AbandonLate(raw []byte) error {
	b, end := i.bot, make(chan verdict, 1)
	m := b.triage(context.Background(), raw, time.Now())
	m.finished = func(v verdict) { end <- v }
	b.backlog.TryTake(m.cost)
	time.AfterFunc(20*time.Millisecond, func() { _ = b.senders.Queue(m.in.Sender, func() { b.turns <- m }) })
	b.abandon()
	select {
	case v := <-end:
		return v.err
	default:
		return nil
	}
}

// Cost is what a waiting message weighs.
func Cost(in *envelope.Message) int64 { return minCost + weight(in) }
