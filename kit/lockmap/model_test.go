package lockmap_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"quartet/kit/lockmap"
)

const (
	modelKeys = 3
	modelCap  = 4
)

// model is what a lockmap must do, written down as plainly as can be: who
// holds a key and who awaits it. Callers are numbers.
type model struct {
	held    [modelKeys]bool
	queue   [modelKeys][]int
	cancels map[int]context.CancelFunc // of those in Lock, by caller
	next    int

	m      *lockmap.Map[int]
	mu     sync.Mutex
	events []string // what the map did, guarded by mu
	want   []string // what the model did
}

func (d *model) did(what string, caller int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, fmt.Sprint(what, " ", caller))
}

func (d *model) must(what string, caller int) {
	d.want = append(d.want, fmt.Sprint(what, " ", caller))
}

// arrive is a new caller of Lock or Queue in the model; it says its number.
func (d *model) arrive(key int) int {
	caller := d.next
	d.next++
	switch {
	case !d.held[key]:
		d.held[key] = true
		d.must("granted", caller)
	case len(d.queue[key]) == modelCap:
		d.must("busy", caller)
	default:
		d.queue[key] = append(d.queue[key], caller)
	}
	return caller
}

func (d *model) lock(t *testing.T, key int) {
	caller := d.arrive(key)
	ctx, cancel := context.WithCancel(t.Context())
	d.cancels[caller] = cancel
	go func() {
		switch err := d.m.Lock(ctx, key); {
		case err == nil:
			d.did("granted", caller)
		case errors.Is(err, lockmap.ErrBusy):
			d.did("busy", caller)
		default:
			d.did("cancelled", caller)
		}
	}()
}

func (d *model) enqueue(key int) {
	caller := d.arrive(key)
	if err := d.m.Queue(key, func() { d.did("granted", caller) }); err != nil {
		d.did("busy", caller)
	}
}

func (d *model) tryLock(key int) {
	if !d.held[key] {
		d.held[key] = true
		d.must("try", key)
	}
	if d.m.TryLock(key) {
		d.did("try", key)
	}
}

func (d *model) unlock(key int) {
	switch {
	case !d.held[key]:
		d.must("panic", key)
	case len(d.queue[key]) == 0:
		d.held[key] = false
	default:
		d.must("granted", d.queue[key][0])
		d.queue[key] = d.queue[key][1:]
	}
	defer func() {
		if recover() != nil {
			d.did("panic", key)
		}
	}()
	d.m.Unlock(key)
}

// cancel ends the wait of the nth waiter of key, if it is one in Lock.
func (d *model) cancel(key, nth int) {
	if len(d.queue[key]) == 0 {
		return
	}
	nth %= len(d.queue[key])
	caller := d.queue[key][nth]
	cancel := d.cancels[caller]
	if cancel == nil {
		return // queued functions cannot be cancelled
	}
	d.queue[key] = slices.Delete(d.queue[key], nth, nth+1)
	d.must("cancelled", caller)
	cancel()
}

// step does the operation that b encodes in both, and compares them.
func (d *model) step(t *testing.T, b byte) {
	key, arg := int(b/8)%modelKeys, int(b/32)
	switch b % 8 {
	case 0, 1:
		d.lock(t, key)
	case 2, 3:
		d.enqueue(key)
	case 4:
		d.tryLock(key)
	case 5:
		d.cancel(key, arg)
	default:
		d.unlock(key)
	}
	synctest.Wait()
	if !slices.Equal(d.events, d.want) {
		t.Fatalf("operation %#x: the map did %v, want %v", b, d.events, d.want)
	}
	d.events, d.want = nil, nil
	held, waiting := 0, 0
	for key := range modelKeys {
		waiting += len(d.queue[key])
		if d.held[key] {
			held++
		}
	}
	if s := d.m.Stats(); s.Entries != held || s.Waiting != waiting {
		t.Fatalf("operation %#x: Stats = %+v, want %d held and %d waiting", b, s, held, waiting)
	}
}

// compareWithModel runs the operations and then gives everything back.
func compareWithModel(t *testing.T, operations []byte) {
	synctest.Test(t, func(t *testing.T) {
		d := &model{
			m:       lockmap.New[int]("model", lockmap.Options{MaxWaiters: modelCap}),
			cancels: map[int]context.CancelFunc{},
		}
		defer func() {
			for _, cancel := range d.cancels {
				cancel()
			}
		}()
		for _, b := range operations {
			d.step(t, b)
		}
		for key := range modelKeys {
			for d.held[key] {
				d.step(t, byte(6+8*key))
			}
		}
		checkIdle(t, d.m)
	})
}

func TestMapDoesWhatTheModelDoes(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		operations := make([]byte, 300)
		for i := range operations {
			operations[i] = byte(r.UintN(256))
		}
		compareWithModel(t, operations)
	}
}

func FuzzOperations(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 2, 0, 5, 6, 6, 6, 6})             // lock, wait, queue, wait, cancel the first, unlock all
	f.Add([]byte{0, 0, 0, 0, 0, 0, 2, 37, 69, 6, 4, 6})  // over the cap, then room again
	f.Add([]byte{4, 4, 6, 6, 12, 8, 14, 14})             // try twice, unlock twice, the second key
	f.Add([]byte{2, 2, 2, 2, 0, 165, 6, 6, 6, 6, 0, 22}) // functions, and a waiter behind them who leaves
	f.Fuzz(func(t *testing.T, operations []byte) {
		compareWithModel(t, operations[:min(len(operations), 400)])
	})
}
