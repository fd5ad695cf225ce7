package cooldown_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/cooldown"
)

// Of uses at the same moment exactly one passes, and one refused person is told once.
func TestGateLetsOneThrough(t *testing.T) {
	g := inMemory()
	l := cooldown.Limits{User: 5 * s, Group: 5 * s}
	for round := range 200 {
		var passed, told atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				_, refusal, ok := g.Reserve(use(fmt.Sprint("p", round), fmt.Sprint("g", round), "kot"), l, at(0))
				if ok {
					passed.Add(1)
				} else if refusal.First {
					told.Add(1)
				}
			})
		}
		all.Wait()
		if passed.Load() != 1 || told.Load() != 1 {
			t.Fatalf("round %d: %d passed, %d told to wait; want 1 and 1", round, passed.Load(), told.Load())
		}
	}
}

// Everybody uses, keeps and refunds at once, with one who tidies and shortens the
// journal: no two hold the same wait.
func TestUsesInAStorm(t *testing.T) {
	life := begin(t, powerloss.New())
	limits := cooldown.Limits{User: time.Hour, Group: time.Hour}
	var holders [3][3]atomic.Int32 // by group and command
	var working, beside sync.WaitGroup
	for person := range 6 {
		working.Go(func() {
			for range 300 {
				g, c := rand.IntN(3), rand.IntN(3)
				u := use(fmt.Sprint("p", person), fmt.Sprint("g", g), fmt.Sprint("c", c))
				r, _, ok := life.gate.Reserve(u, limits, start)
				if !ok {
					continue
				}
				if holders[g][c].Add(1) != 1 {
					t.Errorf("two hold the wait of %+v", u)
				}
				if err := life.book.Append(r.Records(start)...); err != nil {
					t.Error(err)
				}
				holders[g][c].Add(-1)
				if err := life.book.Append(r.Refund()...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	over := make(chan struct{})
	beside.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			if err := life.gate.Tidy(start); err != nil {
				t.Error(err)
			}
			if err := life.book.Compact(); err != nil {
				t.Error(err)
			}
		}
	})
	working.Wait()
	close(over)
	beside.Wait()
	if life.gate.Len() != 0 || !life.gate.Sound() {
		t.Errorf("%d waits are left, sound %t", life.gate.Len(), life.gate.Sound())
	}
	if n := life.killed(t).gate.Len(); n != 0 {
		t.Errorf("%d waits are left after a restart", n)
	}
}
