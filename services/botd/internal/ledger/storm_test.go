package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quartet/kit/journal"
	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/ledger"
)

// Everybody takes, answers and shortens at once, and the bot is killed again
// and again. What is found then of each message is a step that had been begun,
// and none before the last one that was done.
func TestKillInAStorm(t *testing.T) {
	const (
		people = 4
		each   = 800
	)
	fs := powerloss.New()
	uses := newTally()
	l := open(t, fs, onDisk(), uses)
	message := func(person, n int) *envelope.Message {
		return &envelope.Message{Sender: fmt.Sprint("p", person), Device: 1, Timestamp: int64(n), Text: "!ja"}
	}
	rank := map[ledger.State]int32{"": 0, ledger.Waiting: 1, ledger.InFlight: 2, ledger.Unknown: 2, ledger.Sent: 3}
	var begun, done [people][each]atomic.Int32 // ranks
	var working, beside sync.WaitGroup
	for p := range people {
		working.Go(func() {
			for n := range each {
				m := message(p, n)
				k := ledger.KeyOf(m)
				for r, step := range []func() error{
					func() error {
						fresh, err := l.Accept(m, start, n%3 == 0)
						if !fresh {
							t.Errorf("%v was not taken: %v", k, err)
						}
						return err
					},
					func() error {
						defer l.store.Step()()
						return l.Begin(k, uses.use(name(k), 1))
					},
					func() error { return l.Settle(k, ledger.Sent) },
				} {
					begun[p][n].Store(int32(r + 1))
					if err := step(); err != nil {
						t.Error(err)
					}
					done[p][n].Store(int32(r + 1))
					if fresh, err := l.Accept(m, start, false); fresh || err != nil {
						t.Errorf("%v was taken twice: %v", k, err)
					}
					if n%16 == 0 && r < 2 {
						break // some stay
					}
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
			if err := l.store.Compact(); err != nil {
				t.Error(err)
			}
			l.Tidy(start)
			time.Sleep(time.Millisecond)
		}
	})
	kill := func() {
		var least [people][each]int32
		for p := range people {
			for n := range each {
				least[p][n] = done[p][n].Load()
			}
		}
		clone := fs.Clone()
		used := newTally()
		after := open(t, clone, onDisk(), used)
		for p := range people {
			for n := range each {
				k := ledger.KeyOf(message(p, n))
				s := after.StateOf(k)
				if used.of(name(k)) == 1 != (rank[s] >= 2) {
					t.Errorf("%v is %q, used %d times", k, s, used.of(name(k)))
				}
				if r := rank[s]; r < least[p][n] || r > begun[p][n].Load() {
					t.Errorf("of %v is known %q; %d was done and %d begun", k, s, least[p][n], begun[p][n].Load())
				}
			}
		}
		must(t, after.store.Close())
	}
	for range 5 {
		time.Sleep(rand.N(20 * time.Millisecond))
		kill()
	}
	working.Wait()
	kill()
	close(over)
	beside.Wait()
}

// A message that is too long for the journal says nothing about others.
func TestOneTooLongIsNoFault(t *testing.T) {
	l := open(t, powerloss.New(), onDisk())
	long := message(1)
	long.Text = string(make([]byte, 2<<20)) // six bytes each in JSON
	if fresh, err := l.Accept(long, start, false); fresh || !errors.Is(err, journal.ErrTooLarge) {
		t.Fatalf("taken %t, %v", fresh, err)
	}
	if err := l.store.Err(); err != nil {
		t.Errorf("the ledger takes nothing any more: %v", err)
	}
	if !accept(t, l, 2) {
		t.Error("the next one was not taken")
	}
}
