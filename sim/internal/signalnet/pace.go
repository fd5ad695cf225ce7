package signalnet

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"
)

// Run emits what is enqueued until ctx ends.
func (n *Network) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { n.drainWhenWoken(ctx) })
	atOnce := make(chan *batch, maxBatches)
	wg.Go(func() {
		for {
			select {
			case b := <-atOnce:
				n.emitBatch(ctx, b)
			case <-ctx.Done():
				return
			}
		}
	})
	for {
		select {
		case b := <-n.inbox.arrived:
			if b.spacing > 0 {
				wg.Go(func() { n.emitBatch(ctx, b) })
			} else {
				atOnce <- b
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// emitBatch emits a batch on its schedule; Reset and the end of ctx cut it short.
func (n *Network) emitBatch(ctx context.Context, b *batch) {
	ctx = n.inbox.begin(ctx, b)
	p := pacer{spacing: b.spacing, start: time.Now()}
	for i := range b.len() {
		due, ok := p.next(ctx)
		if !ok {
			n.inbox.done(b, b.len()-i)
			return
		}
		n.emit(ctx, b.at(i), due, b.gracious || b.spacing >= gracious)
		n.inbox.emitted()
	}
	n.inbox.done(b, 0)
}

// gracious is the spacing from which on the real server loses no frames.
const gracious = time.Millisecond

// emit builds one message's frame and has it delivered.
func (n *Network) emit(ctx context.Context, s Spec, due time.Time, patient bool) {
	f, err := n.frame(s)
	if err != nil {
		n.Log.LogAttrs(ctx, slog.LevelError, "frame not built", slog.Any("err", err))
		return
	}
	f.Due = due
	if patient {
		f.Grace = n.Quirks.Duration("busy_grace")
	}
	if n.OnFrame != nil {
		n.OnFrame(f)
	}
	times := 1
	if n.Quirks.Take("duplicate_frames") {
		times = 2
	}
	for range times {
		n.Emitted.Add(1)
		n.deliver(ctx, f)
	}
}

// pacer keeps an absolute schedule: a late frame does not move the later ones.
// Frames that catch up keep two thirds of the spacing, for a burst would be
// lost by design at a websocket that hands frames over without waiting; of close
// spacings an eighth, so that a busy machine still keeps the rate.
type pacer struct {
	spacing time.Duration
	start   time.Time
	count   int
	last    time.Time
}

// next returns once the next frame may go, and when it should have gone; false
// when ctx ended.
func (p *pacer) next(ctx context.Context) (scheduled time.Time, ok bool) {
	if p.spacing <= 0 {
		return time.Now(), ctx.Err() == nil
	}
	scheduled = p.start.Add(time.Duration(p.count) * p.spacing)
	due := scheduled
	least := p.spacing * 2 / 3
	if p.spacing < coarse {
		least = p.spacing / 8
	}
	if earliest := p.last.Add(least); p.count > 0 && earliest.After(due) {
		due = earliest
	}
	p.count++
	if !p.wait(ctx, due) {
		return scheduled, false
	}
	// A subscriber that became ready while this goroutine was not running goes first.
	runtime.Gosched()
	p.last = time.Now()
	return scheduled, ctx.Err() == nil
}

// Spacings under coarse need a better clock than the runtime's timers, which
// are up to a tick late.
const (
	coarse = 2 * time.Millisecond
	tick   = 1200 * time.Microsecond
	blink  = 60 * time.Microsecond // what a nap takes at least
)

// wait waits until a time; false when ctx ended.
func (p *pacer) wait(ctx context.Context, until time.Time) bool {
	left := time.Until(until)
	if p.spacing < coarse {
		left -= tick
	}
	if left > 0 {
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
	if rest := time.Until(until); p.spacing < coarse && rest > blink {
		runtime.Gosched() // those who were just woken do not wait for this thread
		nap(rest)
	}
	return true
}
