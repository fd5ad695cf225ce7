package bot

import (
	"bytes"
	"context"
	"sync"
	"time"
)

// A server that stands still until it is rid of a frame must not wait for our
// disk. So its frames are left here, in memory, and taken in right behind, in
// their order. A kill loses what is here, and a stop takes it in first. Where
// there is no room the server waits until there is: for the disk, as it would
// without this.
const (
	behindFrames = 1 << 10
	behindBytes  = 8 << 20 // any two frames fit
)

// arrival is a frame that came, and when.
type arrival struct {
	raw  []byte
	came time.Time
}

// weight is what it weighs in behindBytes.
func (a *arrival) weight() int64 { return int64(len(a.raw)) }

// takeInBehind begins to take in what is left behind, where the server stands
// still for each frame. end returns when all of it was taken in; no frame may
// come after it was called.
func (r *reader) takeInBehind() (end func()) {
	if r.arrivals == nil {
		return func() {}
	}
	r.behind = make(chan arrival, behindFrames)
	var taking sync.WaitGroup
	taking.Go(r.takeIn)
	return func() {
		close(r.behind)
		taking.Wait()
	}
}

// leaveBehind leaves a frame for takeIn.
func (r *reader) leaveBehind(ctx context.Context, raw []byte, came time.Time) {
	a := arrival{bytes.Clone(raw), came}
	// It fits, nobody closes this budget, and to give up waiting would be to lose it.
	_ = r.arrivals.Take(context.WithoutCancel(ctx), a.weight())
	r.behind <- a
}

func (r *reader) takeIn() {
	ctx := context.WithoutCancel(r.ctx) // the server has let go of what is here, also during a stop
	for a := range r.behind {
		r.onFrame(ctx, a.raw, a.came)
		r.link.letGo(a.came, a.came) // the server may have been sent away since
		r.arrivals.Give(a.weight())
	}
}
