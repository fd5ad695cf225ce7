package bot

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"quartet/services/botd/internal/transport"
)

const (
	// firstRetry and lastRetry bound the pause before the next try to connect.
	// The container needs up to two minutes to start: patience, not hammering.
	firstRetry = 500 * time.Millisecond
	lastRetry  = 30 * time.Second

	checkTimeout = 15 * time.Second
)

// errStopping is why a bot that is being stopped receives nothing.
var errStopping = errors.New("the bot is stopping")

// receive keeps the transport open until ctx ends.
func (b *Bot) receive(ctx context.Context) {
	defer b.link.down(errStopping)
	retry := firstRetry
	for {
		open, err := b.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if open > lastRetry { // a server that hangs up at once is not to be hammered either
			retry = firstRetry
		}
		b.link.down(err)
		pause := jitter(retry)
		b.Log.LogAttrs(ctx, slog.LevelWarn, "not receiving", slog.Any("err", err), slog.Duration("retry_in", pause))
		if !sleep(ctx, pause) {
			return
		}
		retry = min(2*retry, lastRetry)
	}
}

// listen checks the server and reads from it until the connection breaks. It
// returns how long that was open.
func (b *Bot) listen(ctx context.Context) (open time.Duration, err error) {
	check, cancel := context.WithTimeout(ctx, checkTimeout)
	warnings, err := b.Signal.Check(check)
	cancel()
	for _, w := range warnings {
		b.Log.LogAttrs(ctx, slog.LevelWarn, "the server has a known fault", slog.String("name", w.Name), slog.String("text", w.Text))
	}
	if err != nil {
		return 0, err
	}
	b.Out.Found()
	r := &reader{Bot: b, ctx: ctx}
	end := r.takeInBehind()
	err = b.Signal.Receive(ctx, r)
	end()
	if !r.opened.IsZero() {
		open = time.Since(r.opened)
	}
	return open, err
}

// reader is the bot as the transport sees it.
type reader struct {
	*Bot
	ctx    context.Context // of the connection, for what is counted and logged
	opened time.Time
	behind chan arrival // nil where frames are taken in at once
}

func (r *reader) Open() {
	r.opened = time.Now()
	gap := r.link.up(r.opened)
	r.Log.LogAttrs(r.ctx, slog.LevelInfo, "receiving", slog.Duration("gap", gap))
	r.noteHeard(r.ctx)
}

func (r *reader) Frame(ctx context.Context, raw []byte) {
	readAt := r.link.hold()
	r.Counters.read(readAt)
	if r.behind != nil {
		r.leaveBehind(ctx, raw, readAt)
		return
	}
	if r.Store.Durable() {
		ctx = r.ctx // what still comes during a stop waits there, not here for room
	}
	r.onFrame(ctx, raw, readAt)
	r.link.letGo(readAt, time.Now())
}

func (r *reader) Rejected(why transport.Reject, _ int64) { r.Counters.drop(r.ctx, dropReason(why)) }

func (r *reader) Alive() { r.link.alive(time.Now()) }

// jitter spreads d over its half to its whole, so that many bots do not come
// back to one server at the same moment.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1)
}

// sleep waits for d; it returns false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
