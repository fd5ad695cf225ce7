package bot

import (
	"log/slog"
	"net/url"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"

	"quartet/kit/pool"
	"quartet/kit/timing"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/signalapi"
)

// Idle is a bot that nobody runs.
type Idle struct{ bot *Bot }

// NewIdle returns a bot of the given number that measures nothing.
func NewIdle(tb testing.TB, number string, commands ...*command.Command) *Idle {
	tb.Helper()
	in, err := timing.New(nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	kept, err := ledger.Open(nil, ledger.Options{})
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
	b := New(Parts{
		Number:      number,
		Signal:      signalapi.New(signalapi.Options{URL: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Number: number}, pool.New("signal", pool.Options{})),
		Reader:      reader,
		Commands:    command.NewRegistry(said.Polish, "!", commands...),
		Tally:       command.NewTally(),
		Ledger:      kept,
		Instruments: in,
		Counters:    counters,
		Log:         slog.New(slog.DiscardHandler),
	}, Options{Limit: 1, BacklogBytes: 1 << 20, SenderWaiting: 1})
	tb.Cleanup(b.accounts.Close)
	return &Idle{b}
}

// Triage is the reader's first stage; it tells whether raw is a command.
func (i *Idle) Triage(raw []byte, readAt time.Time) bool { return i.bot.triage(raw, readAt) != nil }

// AbandonLate abandons what waits while one more message is on its way from
// the backlog to its turn, and returns how that ended.
func (i *Idle) AbandonLate(raw []byte) error {
	b, end := i.bot, make(chan verdict, 1)
	m := b.triage(raw, time.Now())
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
