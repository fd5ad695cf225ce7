// Package bot is the way of a frame, in order, one file a stage:
//
//	receive.go   frames off the transport          waits only where that
//	             presses back on a server that keeps what it has
//	triage.go    is it a message for a command?    never waits
//	keep.go      journal it, and pass over what     one write
//	             came before
//	admit.go     place behind the sender's earlier command, then a slot
//	             backlog bounded in bytes; LIMIT slots; the slot is taken
//	             before the goroutine is started
//	dispatch.go  parse, tally, find the command
//	handle.go    cooldown, the command itself       command time-out
//	send.go      the reply, over the transport      send time-out
//
// The reader of signal-cli-rest-api stops for nothing, not even to write a log
// line, because that server drops what nobody reads; so the bound stands behind
// it, and what does not fit is dropped here with a counted reason. signal-cli
// itself waits when it is not read, so there the reader waits for room instead.
// One person's commands run one after another, in the order they came;
// everybody else's run beside them.
//
// Each message carries a timing.Record from the moment its frame was read; at
// its end the record says whose time it took.
package bot

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"quartet/kit/budget"
	"quartet/kit/lockmap"
	"quartet/kit/pool"
	"quartet/kit/timing"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
)

// Options are what an operator can set.
type Options struct {
	Limit          int           // messages handled at once
	BacklogBytes   int64         // what waiting messages may weigh, with their overhead
	SenderWaiting  int           // messages of one person that may wait behind each other
	CommandTimeout time.Duration // bounds one command
	SendTimeout    time.Duration // bounds one send
	DrainTimeout   time.Duration // bounds what may finish after a stop
	Quote          bool          // replies quote the question
	SelftestGroup  string        // internal id of the group that self-tests answer into; "" refuses them
}

// Parts are what a Bot is put together from.
type Parts struct {
	Signal      transport.Transport
	Number      string // our own, as registered
	Reader      *asked.Reader
	Lang        said.Lang
	Commands    *command.Registry
	Tally       *command.Tally
	Ledger      *ledger.Ledger
	Instruments *timing.Instruments
	Counters    *Counters
	Log         *slog.Logger
}

// Bot receives frames and answers them.
type Bot struct {
	Parts
	options Options

	link     *link                         // the transport's state
	accounts *pool.Cache[string, struct{}] // whether our account is there, by number
	backlog  *budget.Budget                // bytes of the messages that wait
	senders  *lockmap.Map[string]          // one message of a sender at a time
	turns    chan *message                 // messages whose sender's turn it is; they want a slot
	slots    *budget.Budget                // messages handled at once
	gate     *command.Gate

	lastSelftest atomic.Int64 // timestamp of the last self-test
}

// message is one message on its way through the bot. One goroutine at a time
// has it.
type message struct {
	rec  timing.Record
	in   envelope.Message
	cost int64 // what it weighs in the backlog
	kept bool  // it is in the ledger

	call    asked.Call
	command *command.Command
	uses    int // of commands by the sender, this one counted

	finished func(verdict) // what a self-test waits for; nil else
}

// verdict is how a message ended.
type verdict struct {
	outcome timing.Outcome
	times   timing.Times // all zero for a message that was dropped
	err     error
}

// New returns a bot; Run makes it work.
func New(p Parts, o Options) *Bot {
	b := &Bot{
		Parts:   p,
		options: o,
		link:    newLink(p.Signal.Traits().MaxSilence),
		turns:   make(chan *message, o.BacklogBytes/minCost),
		gate:    command.NewGate(),
	}
	b.backlog = budget.New("botd.backlog", o.BacklogBytes, budget.Options{})
	b.slots = budget.New("botd.slots", int64(o.Limit), budget.Options{OnWait: p.Instruments.BudgetWait("botd.slots")})
	b.senders = lockmap.New[string]("botd.senders", lockmap.Options{
		MaxWaiters: o.SenderWaiting,
		OnWait:     p.Instruments.LockWait("botd.senders"),
		OnHold:     p.Instruments.LockHold("botd.senders"),
	})
	b.accounts = pool.NewCache("botd.accounts", accountsCache, func(ctx context.Context, _ string) (struct{}, error) {
		_, err := p.Signal.Check(ctx)
		return struct{}{}, err
	})
	p.Instruments.ObserveBudget(b.backlog)
	p.Instruments.ObserveBudget(b.slots)
	p.Instruments.ObserveLock(b.senders)
	p.Instruments.ObserveCache(b.accounts)
	return b
}

// Run receives and answers until ctx ends. Then it stops receiving, lets what
// it has taken finish within the drain time-out, and returns nil; messages
// that could not finish are counted.
func (b *Bot) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var g errgroup.Group
	g.Go(func() error { return b.admit(work) })
	g.Go(func() error { return b.tidy(work) })
	b.resume(ctx)
	b.receive(ctx)
	b.drain(work)
	stop()
	err := g.Wait()
	b.accounts.Close()
	return err
}

// onFrame takes a frame from the reader to its place in the backlog. Who claims
// to be the self-test there is not: that name has privileges.
func (b *Bot) onFrame(ctx context.Context, raw []byte, readAt time.Time) {
	m := b.triage(raw, readAt)
	switch {
	case m == nil:
	case m.in.Sender == selftestSender:
		b.drop(ctx, m, dropOwn)
	case b.keep(ctx, m):
		b.enqueue(ctx, m, b.Signal.Traits().PressesBack)
	}
}

// serve answers one message, in the slot that admit took for it.
func (b *Bot) serve(ctx context.Context, m *message) {
	defer b.senders.Unlock(m.in.Sender)
	ctx, found := b.dispatch(ctx, m)
	if !found {
		return
	}
	reply, refund, err := b.handle(ctx, m)
	sendErr := b.send(ctx, m, reply)
	b.settle(ctx, m, sendErr)
	if sendErr != nil {
		if !errors.Is(sendErr, transport.ErrOutcomeUnknown) {
			refund() // the asker certainly has nothing
		}
		err = sendErr
	}
	b.end(ctx, m, err)
}
