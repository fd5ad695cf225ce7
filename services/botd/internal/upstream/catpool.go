package upstream

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"time"
)

const (
	refillTime = 30 * time.Second // bounds one refill
	// The pause after a refill that failed, doubled with each further one.
	minPause = time.Second
	maxPause = time.Minute
	// directTime is how long somebody waits for a fresh picture who could have
	// one again instead.
	directTime = 5 * time.Second
	// maxStock bounds the pictures, in bytes.
	maxStock = 16 << 20
)

// CatPoolOptions of a CatPool.
type CatPoolOptions struct {
	Ready int          // pictures that are fetched ahead; 0 = none
	Keep  int          // pictures, of those given last, that may be given again while there is no other
	Log   *slog.Logger // of Run: that refills fail, and work again
}

// CatPool has whole pictures ready, so that nobody waits for one. Run fetches
// them, one at a time, as others are taken; when there is none ready it is
// fetched for whoever asks, and when that fails one of the last is given again.
// The same picture is not given twice in a row while another is ready.
//
// A picture waits until it is asked for, so that none is fetched in vain but
// those that are ready at the end. All together have at most 16 MiB; one fetch
// under way comes on top.
type CatPool struct {
	fetch func(context.Context) (Picture, error)
	seed  maphash.Seed
	stock *stock
	taken chan struct{} // holds one: there may be room now
	log   *slog.Logger
}

// NewCatPool returns a pool of what fetch returns, which must keep to its
// context. It is empty, and stays so without Run.
func NewCatPool(fetch func(context.Context) (Picture, error), o CatPoolOptions) *CatPool {
	return &CatPool{
		fetch: fetch, seed: maphash.MakeSeed(), taken: make(chan struct{}, 1), log: o.Log,
		stock: &stock{wanted: o.Ready, keep: o.Keep},
	}
}

// Random returns some picture. The error is of fetching one, when there was
// none to give instead, or when ctx was cancelled.
func (p *CatPool) Random(ctx context.Context) (Picture, error) {
	if warm, ok := p.stock.take(); ok {
		select {
		case p.taken <- struct{}{}:
		default:
		}
		return warm, nil
	}
	direct, err := p.direct(ctx)
	if err == nil {
		p.stock.give(p.summed(direct))
		return direct, nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return Picture{}, err
	}
	if old, ok := p.stock.again(); ok {
		return old, nil
	}
	return Picture{}, err
}

// direct fetches a picture for somebody who waits.
func (p *CatPool) direct(ctx context.Context) (Picture, error) {
	if p.stock.count().Kept > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, directTime)
		defer cancel()
	}
	return p.fetch(ctx)
}

// Stats tells how the pool does.
func (p *CatPool) Stats() CatPoolStats { return p.stock.count() }

// Run keeps the pool filled until ctx ends, which is no error. There is one Run
// for a pool.
func (p *CatPool) Run(ctx context.Context) error {
	var pause time.Duration // while refills fail
	for ctx.Err() == nil {
		if !p.stock.hungry() {
			select {
			case <-p.taken:
			case <-ctx.Done():
			}
			continue
		}
		err := p.refill(ctx)
		if ctx.Err() != nil {
			break
		}
		p.tell(ctx, err, pause)
		if err == nil {
			pause = 0
			continue
		}
		pause = min(max(2*pause, minPause), maxPause)
		sit(ctx, until(err, pause))
	}
	return nil
}

// refill fetches one picture.
func (p *CatPool) refill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, refillTime)
	defer cancel()
	picture, err := p.fetch(ctx)
	if err != nil {
		p.stock.failed()
		return err
	}
	p.stock.put(p.summed(picture))
	return nil
}

func (p *CatPool) summed(picture Picture) stocked {
	return stocked{picture, maphash.Bytes(p.seed, picture.Data)}
}

// tell logs when refills begin to fail, and when they work again.
func (p *CatPool) tell(ctx context.Context, err error, pause time.Duration) {
	switch {
	case err != nil && pause == 0:
		p.log.LogAttrs(ctx, slog.LevelWarn, "no pictures ahead", slog.Any("err", err))
	case err == nil && pause != 0:
		p.log.LogAttrs(ctx, slog.LevelInfo, "pictures ahead again")
	}
}

// until is how long nothing is fetched after err: as long as the API wants, if
// it says.
func until(err error, pause time.Duration) time.Duration {
	if told, ok := errors.AsType[*NotNowError](err); ok {
		return max(pause, time.Until(told.Until))
	}
	return pause
}
