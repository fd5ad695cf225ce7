package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"quartet/kit/journal"
	"quartet/services/botd/internal/fault"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/store"
	"quartet/services/botd/internal/transport"
)

const (
	// tidyPeriod is short, so that no flood fills the store between two.
	tidyPeriod = time.Second

	// heardPeriod is after how many of them it is noted that Signal was heard of:
	// how much too long a gap after a crash is counted at most.
	heardPeriod = 5

	// keepRetry is the pause before the next try to write to the ledger.
	keepRetry = time.Second
)

// errLeft ends a send that a stop came before: the message waits for the next
// start.
var errLeft = errors.New("left for the next start")

// errNotNoted ends a send that could not be noted before it began.
var errNotNoted = errors.New("reply not begun")

// keep writes a message to the ledger. It returns false for one that came
// before, and for one that cannot be kept: without a note that it was taken, it
// could be answered twice.
func (b *Bot) keep(ctx context.Context, m *message, spilled bool) bool {
	if m.in.Timestamp == 0 {
		return true // without a name it can neither come twice nor be remembered
	}
	m.rec.BeginStore()
	fresh, err := b.Ledger.Accept(&m.in, m.at, spilled)
	for err != nil && b.mayKeepLater(err) && sleep(ctx, keepRetry) {
		fresh, err = b.Ledger.Accept(&m.in, m.at, spilled)
	}
	m.rec.EndStore()
	switch {
	case err != nil:
		b.drop(ctx, m, dropNotKept)
	case !fresh:
		b.drop(ctx, m, dropDuplicate)
	default:
		m.kept = true
		fault.Point(fault.Journaled)
		return true
	}
	return false
}

// mayKeepLater reports whether a message that could not be written may be later,
// and what comes behind it waits at the server so long.
func (b *Bot) mayKeepLater(err error) bool {
	return b.Signal.Traits().PressesBack && !errors.Is(err, journal.ErrTooLarge)
}

// goOn goes on where an earlier life ended: with what it took and did not answer,
// and then with what waits on disk. Where the reader must not wait it does so
// beside it, and what comes meanwhile queues on disk, behind these.
func (b *Bot) goOn(ctx context.Context, g *errgroup.Group) {
	if r := b.Ledger.Recovered(); r != (ledger.Recovered{}) || b.Store.TornBytes() > 0 {
		b.Counters.unknownAnswers(ctx, r.Unknown)
		b.Log.LogAttrs(ctx, slog.LevelInfo, "going on where an earlier run ended", slog.Int("waiting", r.Waiting),
			slog.Int("unknown", r.Unknown), slog.Int64("torn_bytes", b.Store.TornBytes()))
	}
	left := b.Ledger.Waiting()
	if b.Spill == nil || b.Signal.Traits().PressesBack {
		b.resume(ctx, left, func() {})
		g.Go(func() error { b.takeBack(ctx); return nil })
		return
	}
	b.spilled.Add(int64(len(left)))
	g.Go(func() error {
		b.resume(ctx, left, func() { b.spilled.Add(-1) })
		b.takeBack(ctx)
		return nil
	})
}

// resume puts what an earlier life left in its place, as there is room.
func (b *Bot) resume(ctx context.Context, left []ledger.Taken, placed func()) {
	for _, w := range left {
		m := b.again(w.Message, w.At)
		if why := b.overdue(m); why != "" {
			b.drop(ctx, m, why)
		} else {
			b.enqueue(ctx, m, true)
		}
		placed()
	}
}

// begin notes that an answer is about to be sent, with all that becomes true by
// that: the cooldown, the count of uses. While that cannot be written the answer
// waits, as long as somebody waits for it.
func (b *Bot) begin(ctx context.Context, m *message) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", errLeft, err)
	}
	m.rec.BeginStore()
	defer m.rec.EndStore()
	err := b.noteBegun(m)
	if errors.Is(err, errNotNoted) {
		b.Log.LogAttrs(ctx, slog.LevelError, "reply not begun", slog.String("command", m.command.Name), slog.Any("err", err))
	}
	for errors.Is(err, errNotNoted) && !b.outlived(m) {
		if b.Store.Broken() != nil || !sleep(ctx, keepRetry) {
			return b.putBack(ctx, m, err)
		}
		err = b.noteBegun(m)
	}
	return err
}

// noteBegun is one try of begin. Each is a step of its own: what could make room
// waits for the end of a step.
func (b *Bot) noteBegun(m *message) error {
	defer b.Store.Step()()
	records := b.used(m)
	var err error
	if m.kept {
		err = b.Ledger.Begin(ledger.KeyOf(&m.in), records...)
	} else {
		err = b.Store.Append(records...)
	}
	m.begun = err == nil
	if err != nil && m.kept && !errors.Is(err, ledger.ErrCancelled) {
		err = fmt.Errorf("%w: %w", errNotNoted, err)
	}
	return err
}

// used is what is to be written of a use, within a step.
func (b *Bot) used(m *message) []store.Record {
	if m.counted {
		_, m.count = b.People.Count(m.in.Sender)
		m.counted = false
	}
	return append(m.use.Records(b.now()), m.count...)
}

// putBack leaves a message for the next start whose answer was begun and certainly
// did not go out. Its use begins anew then.
func (b *Bot) putBack(ctx context.Context, m *message, why error) error {
	defer b.Store.Step()()
	if err := b.Ledger.Unbegin(&m.in, m.use.Refund()...); err != nil {
		b.Log.LogAttrs(ctx, slog.LevelError, "not noted that a message waits again", slog.Any("err", err))
	}
	return fmt.Errorf("%w: %w", errLeft, why)
}

// settle notes what became of a message, sent or not. What the asker certainly
// has not got does not count as a use.
func (b *Bot) settle(ctx context.Context, m *message, err error) {
	state := ledger.Sent
	switch {
	case errors.Is(err, errLeft):
		return
	case errors.Is(err, transport.ErrOutcomeUnknown):
		state = ledger.Unknown
		b.Counters.unknownAnswers(ctx, 1)
	case err != nil:
		state = ledger.Failed
	}
	m.rec.BeginStore()
	defer m.rec.EndStore()
	defer b.Store.Step()()
	switch {
	case state == ledger.Failed:
		b.note(ctx, m, state, m.use.Refund()...)
	case !m.begun: // without words it begins and ends at once
		b.note(ctx, m, state, b.used(m)...)
	default:
		b.note(ctx, m, state)
	}
}

// tidy keeps the store short until ctx ends. A store that can never be written
// again before a restart ends the bot: its supervisor starts it anew.
func (b *Bot) tidy(ctx context.Context, fail context.CancelCauseFunc) error {
	failing := false
	for n := 1; sleep(ctx, tidyPeriod); n++ {
		if n%heardPeriod == 0 {
			b.noteHeard(ctx)
		}
		if err := b.broken(); err != nil {
			fail(err)
			return fmt.Errorf("the store can take nothing more until a restart: %w", err)
		}
		b.Ledger.Tidy(time.Now())
		err := errors.Join(b.Gate.Tidy(b.now()), b.Store.Tidy())
		switch {
		case err != nil && !failing:
			b.Log.LogAttrs(ctx, slog.LevelError, "the store cannot be shortened", slog.Any("err", err))
		case err == nil && failing:
			b.Log.LogAttrs(ctx, slog.LevelInfo, "the store can be shortened again")
		}
		failing = err != nil
	}
	return nil
}

// noteHeard writes down until when nothing can have been missed.
func (b *Bot) noteHeard(ctx context.Context) {
	at := b.link.heard(time.Now())
	if at.IsZero() {
		return
	}
	if err := b.Heard.Note(at); err != nil {
		b.Log.LogAttrs(ctx, slog.LevelError, "not noted when Signal was heard of", slog.Any("err", err))
	}
}

// broken is why what comes cannot be kept until the bot is started anew.
func (b *Bot) broken() error {
	if b.Spill == nil {
		return b.Store.Broken()
	}
	return errors.Join(b.Store.Broken(), b.Spill.Broken())
}

// lookForAccount keeps asking the server for our account while that is not
// there. Without messages nobody else would, but who connects.
func (b *Bot) lookForAccount(ctx context.Context) {
	for {
		if b.link.check(time.Now()) == nil && b.Out.Paused() != nil {
			_ = b.Out.Wait(ctx)
		}
		if !sleep(ctx, tidyPeriod) {
			return
		}
	}
}
