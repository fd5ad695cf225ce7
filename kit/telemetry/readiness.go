package telemetry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	readyTimeout  = 2 * time.Second // of the context that Options.Ready gets
	readyPatience = 3 * time.Second // after which whoever asked is answered without it
)

// ErrNoVerdict is why a service whose Ready does not return is not ready. It
// hangs, more likely than not.
var ErrNoVerdict = fmt.Errorf("the check of readiness has not answered within %s", readyPatience)

// readiness asks a service whether it can work. It does so on a goroutine of its
// own, one for all who ask meanwhile: a check that hangs must neither hang who
// probes nor leave one more goroutine behind at each probe.
type readiness struct {
	check func(context.Context) error // nil is always ready

	mu  sync.Mutex
	now *verdict // guarded by mu: the check under way, or nil
}

type verdict struct {
	done chan struct{} // closed when err is final
	err  error
}

// ask returns why the service is not ready, or nil.
func (r *readiness) ask(ctx context.Context) error {
	if r.check == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readyPatience, ErrNoVerdict)
	defer cancel()
	v := r.begin()
	select {
	case <-v.done:
		return v.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin begins a check, or finds the one under way.
func (r *readiness) begin() *verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil {
		r.now = &verdict{done: make(chan struct{}), err: errors.New("the check of readiness ended without an answer")}
		go r.run(r.now)
	}
	return r.now
}

func (r *readiness) run(v *verdict) {
	defer func() {
		if p := recover(); p != nil { // as net/http does for what it runs itself
			v.err = fmt.Errorf("the check of readiness panicked: %v", p)
		}
		r.mu.Lock()
		r.now = nil
		r.mu.Unlock()
		close(v.done)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	v.err = r.check(ctx)
}
