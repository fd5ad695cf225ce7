package pool

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// PanicError is the error of a fetch that panicked.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine that panicked
}

func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// errExited is the error of a fetch that called runtime.Goexit.
var errExited = errors.New("fetch ended its goroutine")

// flight is one fetch and those who wait for it.
type flight[K comparable, V any] struct {
	key    K
	ctx    context.Context
	cancel context.CancelFunc

	// Guarded by the cache's mu.
	waiters    int
	background bool // goes on without waiters
	settled    bool

	done chan struct{} // closed once settled; then the result is immutable
	val  V
	err  error
}

// detached has the life of one context and the values of another.
type detached struct {
	context.Context
	values context.Context
}

// Value asks the life first: package context finds its parent by a value.
func (d detached) Value(key any) any {
	if v := d.Context.Value(key); v != nil {
		return v
	}
	return d.values.Value(key)
}

// slow is Get without a fresh entry.
func (c *Cache[K, V]) slow(ctx context.Context, key K) (V, error) {
	var none V
	c.mu.Lock()
	now := time.Since(c.born)
	e := c.entries[key]
	switch {
	case e != nil && now < e.fresh: // it came meanwhile
		c.mu.Unlock()
		return c.serve(e)
	case e != nil && now < e.dead:
		c.counts.Stale++
		e.used.Store(true)
		if c.flights[key] == nil && now >= e.retry && !c.closed {
			c.launch(c.life, key).background = true
		}
		c.mu.Unlock()
		return e.val, nil
	case c.closed:
		c.mu.Unlock()
		return none, c.wrap(ErrClosed)
	case ctx.Err() != nil:
		c.mu.Unlock()
		return none, c.wrap(contextError(ctx))
	}
	c.counts.Misses++
	f := c.flights[key]
	if f == nil {
		f = c.launch(detached{c.life, ctx}, key)
	}
	f.waiters++
	c.mu.Unlock()
	return c.await(ctx, f)
}

func (c *Cache[K, V]) await(ctx context.Context, f *flight[K, V]) (v V, err error) {
	if c.o.Wait != nil {
		waited := c.o.Wait(ctx)
		defer func() { waited(err) }()
	}
	select {
	case <-f.done:
		return f.val, f.err
	case <-ctx.Done():
		c.leave(f)
		return v, c.wrap(contextError(ctx))
	}
}

// leave takes a waiter off f, and ends f with the last.
func (c *Cache[K, V]) leave(f *flight[K, V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.waiters--
	if f.waiters > 0 || f.background {
		return
	}
	if c.flights[f.key] == f {
		delete(c.flights, f.key)
	}
	f.cancel()
}

// launch begins a fetch. It is called with mu held and the cache not closed.
func (c *Cache[K, V]) launch(parent context.Context, key K) *flight[K, V] {
	f := &flight[K, V]{key: key, done: make(chan struct{})}
	f.ctx, f.cancel = context.WithTimeout(parent, c.o.FetchTimeout)
	c.flights[key] = f
	c.counts.Fetches++
	c.tasks.Go(func() { c.run(f) })
	return f
}

// run fetches. The result is settled by whichever comes first, the fetch's
// return or its deadline, so that a fetch which ignores its context
// holds up nobody but Close.
func (c *Cache[K, V]) run(f *flight[K, V]) {
	defer f.cancel()
	var v V
	unwatch := context.AfterFunc(f.ctx, func() {
		var none V
		c.settle(f, none, contextError(f.ctx))
	})
	defer unwatch()
	err := errExited
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{Value: r, Stack: debug.Stack()}
		}
		c.settle(f, v, err)
	}()
	v, err = c.fetch(f.ctx, f.key)
}

// settle gives f its result, once, and remembers it unless f was forgotten or
// abandoned meanwhile.
func (c *Cache[K, V]) settle(f *flight[K, V], v V, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.settled {
		return
	}
	f.settled = true
	if err != nil {
		if cause := context.Cause(f.ctx); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", contextError(f.ctx), err)
		}
		err = c.wrap(err)
	}
	f.val, f.err = v, err
	close(f.done)
	if c.flights[f.key] != f {
		return
	}
	delete(c.flights, f.key)
	if err != nil {
		c.counts.Failures++
	}
	c.store(f.key, v, err)
}
