// Package bot is the way of a frame, in order, one file a stage:
//
//	receive.go   frames off the transport          waits only where that
//	             presses back on a server that keeps what it has; where one
//	             stands still for each frame, the rest is done right behind
//	             (behind.go)
//	triage.go    is it a message for a command?    never waits
//	keep.go      journal it, pass over what came before; what finds no room
//	             waits on disk (overflow.go)       one or two writes
//	admit.go     place behind the sender's earlier command, then a slot
//	             backlog bounded in bytes; LIMIT slots; the slot is taken
//	             before the goroutine is started
//	dispatch.go  parse, find the command, may the asker use it here
//	handle.go    cooldown, the command itself      command time-out
//	turn.go      the chat's turn; a reply that waits for it holds no slot
//	send.go      the reply, over the transport     send time-out, of each part
//
// Beside it: what the bot says unasked (notice.go, post.go) and shows while it
// works (ack.go); the files that came with messages (files.go); what settles an
// answer of unknown outcome (receipt.go); who may ask (who.go); what admins ask
// about (status.go, recent.go, debugged.go) and machines (link.go, counters.go,
// selftest.go, idle.go).
//
// The reader of signal-cli-rest-api stops for nothing, not even to write a log
// line, because that server drops what nobody reads, or does nothing else while
// it posts; so the bound stands behind it, and what does not fit waits on disk,
// or is dropped here with a counted reason. signal-cli itself waits when it is
// not read, so there the reader waits for room instead. One person's commands run
// one after another, in the order they came; everybody else's run beside them.
//
// Each message carries a timing.Record from the moment its frame was read; at
// its end the record says whose time it took.
package bot

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"quartet/kit/budget"
	"quartet/kit/lockmap"
	"quartet/kit/pool"
	"quartet/kit/timing"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/fault"
	"quartet/services/botd/internal/heard"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/outbox"
	"quartet/services/botd/internal/people"
	"quartet/services/botd/internal/rules"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/spill"
	"quartet/services/botd/internal/store"
	"quartet/services/botd/internal/transport"
)

// Options are what an operator can set.
type Options struct {
	Limit          int           // messages handled at once
	BacklogBytes   int64         // what waiting messages may weigh, with their overhead
	SenderWaiting  int           // messages of one person that may wait behind each other
	CommandTimeout time.Duration // bounds one command
	SendTimeout    time.Duration // bounds one send, of each part of a long reply
	DrainTimeout   time.Duration // bounds what may finish after a stop
	MaxAge         time.Duration // how old a message may be to be answered

	Quote             bool     // replies quote the question
	Ack               string   // what shows that a command was heard: AckNone, AckTyping or an emoji
	DeleteAttachments bool     // files of messages to the bot go when they are answered or dropped
	SelftestGroup     string   // internal id of the group that self-tests answer into; "" refuses them
	Admins            []string // uuids or numbers
	Groups            []string // internal ids of groups that it answers in without an admin's leave
	EveryGroup        bool     // or in all
	Direct            bool     // and in direct chats
}

// Parts are what a Bot is put together from.
type Parts struct {
	Signal      transport.Transport
	Number      string // our own, as registered
	Reader      *asked.Reader
	Lang        said.Lang
	Commands    *command.Registry // the first; SetCommands puts another in its place
	Out         *outbox.Outbox
	Store       *store.Store
	Ledger      *ledger.Ledger
	Spill       *spill.Spill // nil drops what finds no room
	Gate        *cooldown.Gate
	People      *people.People
	Rules       *rules.Rules
	Heard       *heard.Book
	Instruments *timing.Instruments
	Counters    *Counters
	Log         *slog.Logger

	// Clock is what cooldowns go by; nil is the system's.
	Clock func() time.Time
}

// Bot receives frames and answers them.
type Bot struct {
	Parts
	options  Options
	commands atomic.Pointer[command.Registry]
	circle   circle
	self     itself
	began    time.Time

	link     *link                         // the transport's state
	accounts *pool.Cache[string, struct{}] // whether our account is there, by number

	arrivals *budget.Budget       // bytes of the frames that are not taken in yet; nil where each is at once
	backlog  *budget.Budget       // bytes of the messages that wait
	spilled  atomic.Int64         // messages that wait on disk, or just come from there
	spilling sync.Mutex           // held while one goes there, until the ledger knows of it
	senders  *lockmap.Map[string] // one message of a sender at a time
	turns    chan *message        // messages whose sender's turn it is; they want a slot
	slots    *budget.Budget       // messages handled at once
	replies  *budget.Budget       // bytes of the replies that wait for their chat without a slot
	outgoing chan func()          // sends those whose chat's turn it is
	sends    *budget.Budget       // of them, sent at once
	asides   *budget.Budget       // calls that no answer waits for
	litter   *budget.Budget       // bytes of the messages whose files are to be deleted
	files    chan files           // them
	chats    *timing.Peer         // what a reply waits for before it goes out

	told      told // who was told that they are too fast
	refused   told // or that something is not for them
	failed    told // or that something did not work
	strangers told // unknown groups that the bot was called in
	debugged  debugged
	recent    recent

	lastSelftest atomic.Int64 // timestamp of the last self-test
}

// message is one message on its way through the bot. One goroutine at a time
// has it.
type message struct {
	rec  timing.Record
	in   envelope.Message
	at   time.Time // when it was read
	cost int64     // what it weighs in the backlog
	kept bool      // it is in the ledger

	call    asked.Call
	command *command.Command
	inTurn  bool // it has its chat's turn
	over    bool // its sender's next one may come
	use     *cooldown.Reservation
	counted bool           // the use is one of those that are counted, and was not yet
	count   []store.Record // what is to be written of that
	begun   bool           // it was written, with the use

	reply command.Reply
	err   error // what handling it ended with

	finished func(verdict) // what a self-test waits for; nil else
}

// verdict is how a message ended.
type verdict struct {
	outcome timing.Outcome
	times   timing.Times // all zero for a message that was dropped
	err     error
}

// maxReplies is what replies may weigh that wait for their chat without a slot.
// Beyond it they keep theirs, which presses back.
const maxReplies = 32 << 20

// New returns a bot; Run makes it work.
func New(p Parts, o Options) *Bot {
	in := p.Instruments
	b := &Bot{
		Parts:   p,
		options: o,
		circle:  newCircle(o),
		self:    itself{number: p.Number},
		began:   time.Now(),

		told:      told{every: politeness},
		refused:   told{every: politeness},
		strangers: told{every: politeness},
		failed:    told{every: patience},

		link:     newLink(p.Signal.Traits().MaxSilence, p.Heard.Last()),
		backlog:  budget.New("botd.backlog", o.BacklogBytes, budget.Options{}),
		turns:    make(chan *message, o.BacklogBytes/minCost),
		slots:    budget.New("botd.slots", int64(o.Limit), budget.Options{OnWait: in.BudgetWait("botd.slots")}),
		replies:  budget.New("botd.replies", maxReplies, budget.Options{}),
		outgoing: make(chan func(), maxReplies/minCost),
		sends:    budget.New("botd.sends", int64(o.Limit), budget.Options{}),
		asides:   budget.New("botd.asides", int64(o.Limit), budget.Options{}),
		litter:   budget.New("botd.litter", maxFiles, budget.Options{}),
		files:    make(chan files, maxFiles/minCost),
		chats:    in.Peer("chat"),
	}
	b.commands.Store(p.Commands)
	if p.Spill != nil {
		b.spilled.Store(int64(p.Spill.Len()))
	}
	b.senders = lockmap.New[string]("botd.senders", lockmap.Options{
		MaxWaiters: o.SenderWaiting,
		OnWait:     in.LockWait("botd.senders"),
		OnHold:     in.LockHold("botd.senders"),
	})
	b.accounts = pool.NewCache("botd.accounts", accountsCache, func(ctx context.Context, _ string) (struct{}, error) {
		_, err := p.Signal.Check(ctx)
		return struct{}{}, err
	})
	if p.Signal.Traits().StandsStill {
		b.arrivals = budget.New("botd.arrivals", behindBytes, budget.Options{OnWait: in.BudgetWait("botd.arrivals")})
		in.ObserveBudget(b.arrivals)
	}
	for _, each := range []*budget.Budget{b.backlog, b.slots, b.replies, b.sends} {
		in.ObserveBudget(each)
	}
	p.Counters.link.Store(b.link)
	in.ObserveLock(b.senders)
	in.ObserveLock(p.Out.Chats())
	in.ObserveCache(b.accounts)
	return b
}

func (b *Bot) now() time.Time {
	if b.Clock != nil {
		return b.Clock()
	}
	return time.Now()
}

// SetCommands puts other commands in place of all that there are. What is under
// way ends as it began.
func (b *Bot) SetCommands(r *command.Registry) { b.commands.Store(r) }

// Run receives and answers until ctx ends. Then it stops receiving, lets what
// it has taken finish within the drain time-out, and returns nil; messages
// that could not finish are counted. It returns earlier, with an error, when
// what it takes can no longer be kept until it is started anew.
func (b *Bot) Run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var g errgroup.Group
	b.Out.Doubt() // a server that starts too takes minutes: what waits must not fail for it
	g.Go(func() error { return b.admit(work) })
	g.Go(func() error { b.lookForAccount(work); return nil })
	g.Go(func() error { return b.sendInTurn(work) })
	g.Go(func() error { return b.deleteFiles(work) })
	g.Go(func() error { return b.tidy(work, fail) })
	b.goOn(ctx, &g)
	b.receive(ctx)
	b.noteHeard(work)
	b.drain(work)
	stop()
	err := g.Wait()
	b.accounts.Close()
	return err
}

// onFrame takes a frame from the reader to its place in the backlog. Who claims
// to be the self-test there is not: that name has privileges.
func (b *Bot) onFrame(ctx context.Context, raw []byte, readAt time.Time) {
	fault.Point(fault.Received)
	m := b.triage(ctx, raw, readAt)
	switch {
	case m == nil:
	case m.in.Sender == selftestSender:
		b.drop(ctx, m, dropOwn)
	case b.Signal.Traits().PressesBack:
		if b.keep(ctx, m, false) {
			b.enqueue(ctx, m, true)
		}
	default:
		b.place(ctx, m)
	}
}

// serve answers one message, in the slot that admit took for it.
func (b *Bot) serve(ctx context.Context, m *message) {
	defer b.survive(ctx, m)
	ctx, found := b.dispatch(ctx, m)
	if !found {
		m.over = true
		b.senders.Unlock(m.in.Sender)
		return
	}
	b.handle(ctx, m)
	b.answer(ctx, m)
}

// survive ends a message in whose handling we panicked, and no other. It is
// settled: a start that took it up again would panic again.
func (b *Bot) survive(ctx context.Context, m *message) {
	p := recover()
	if p == nil {
		return
	}
	b.Log.LogAttrs(ctx, slog.LevelError, "panicked over a message", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	if m.inTurn {
		b.Out.Done(chatOf(&m.in))
	}
	if m.over {
		return
	}
	m.over = true
	b.drop(ctx, m, dropPanic)
	b.senders.Unlock(m.in.Sender)
}
