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
	for i, s := range b.specs {
		if !p.next(ctx) {
			n.inbox.done(b, len(b.specs)-i)
			return
		}
		n.emit(ctx, s, b.spacing)
		n.inbox.emitted()
	}
	n.inbox.done(b, 0)
}

// gracious is the spacing from which on the real server loses no frames.
const gracious = time.Millisecond

// emit builds one message's frame and has it delivered.
func (n *Network) emit(ctx context.Context, s Spec, spacing time.Duration) {
	f, err := n.frame(s)
	if err != nil {
		n.Log.LogAttrs(ctx, slog.LevelError, "frame not built", slog.Any("err", err))
		return
	}
	if spacing >= gracious {
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
// lost by design at a websocket that hands frames over without waiting.
type pacer struct {
	spacing time.Duration
	start   time.Time
	count   int
	last    time.Time
}

// next returns when the next frame is due; false when ctx ended.
func (p *pacer) next(ctx context.Context) bool {
	if p.spacing <= 0 {
		return ctx.Err() == nil
	}
	due := p.start.Add(time.Duration(p.count) * p.spacing)
	if earliest := p.last.Add(p.spacing * 2 / 3); p.count > 0 && earliest.After(due) {
		due = earliest
	}
	p.count++
	if left := time.Until(due); left > 0 {
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
	// A subscriber that became ready while this goroutine was not running goes first.
	runtime.Gosched()
	p.last = time.Now()
	return ctx.Err() == nil
}
