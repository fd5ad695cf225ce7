package command_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quartet/services/botd/internal/command"
)

var (
	kot = &command.Command{Name: "kot", Cooldown: 5 * time.Second}
	ja  = &command.Command{Name: "ja", Cooldown: 5 * time.Second}
)

func TestSecondUseWaits(t *testing.T) {
	g, now := command.NewGate(), time.Now()
	if _, ok := g.Reserve("ala", kot, now); !ok {
		t.Fatal("the first use was refused")
	}
	refusal, ok := g.Reserve("ala", kot, now.Add(2*time.Second))
	if ok || refusal != (command.Refusal{Wait: 3 * time.Second, First: true}) {
		t.Errorf("two seconds later: %+v, %t", refusal, ok)
	}
	if refusal, ok = g.Reserve("ala", kot, now.Add(3*time.Second)); ok || refusal.First {
		t.Errorf("told twice: %+v, %t", refusal, ok)
	}
	if _, ok = g.Reserve("ala", kot, now.Add(5*time.Second)); !ok {
		t.Error("refused when the time was over")
	}
}

func TestCooldownIsOfOnePersonAndOneCommand(t *testing.T) {
	g, now := command.NewGate(), time.Now()
	g.Reserve("ala", kot, now)
	if _, ok := g.Reserve("ela", kot, now); !ok {
		t.Error("somebody else had to wait")
	}
	if _, ok := g.Reserve("ala", ja, now); !ok {
		t.Error("another command had to wait")
	}
}

func TestRefundedUseDoesNotCount(t *testing.T) {
	g, now := command.NewGate(), time.Now()
	g.Reserve("ala", kot, now)
	g.Refund("ala", kot)
	if _, ok := g.Reserve("ala", kot, now); !ok {
		t.Error("a use that came to nothing still counts")
	}
}

func TestNoCooldownNeverWaits(t *testing.T) {
	g, now := command.NewGate(), time.Now()
	free := &command.Command{Name: "free"}
	for range 3 {
		if _, ok := g.Reserve("ala", free, now); !ok {
			t.Fatal("refused")
		}
	}
}

func TestLiftedCooldownComesBackByItself(t *testing.T) {
	g, now := command.NewGate(), time.Now()
	g.Reserve("probe", kot, now)
	g.Lift("probe", now.Add(time.Second))
	if _, ok := g.Reserve("probe", kot, now.Add(999*time.Millisecond)); !ok {
		t.Error("refused although lifted")
	}
	if _, ok := g.Reserve("probe", kot, now.Add(time.Second)); ok {
		t.Error("the lease did not expire")
	}
	g.Reserve("ala", kot, now)
	if _, ok := g.Reserve("ala", kot, now); ok {
		t.Error("the lease of one person served another")
	}
}

func TestShortLeaseDoesNotEndALongOne(t *testing.T) {
	g, now := command.NewGate(), time.Now()
	g.Lift("probe", now.Add(time.Minute))
	g.Lift("probe", now.Add(time.Second))
	for range 2 {
		if _, ok := g.Reserve("probe", kot, now.Add(30*time.Second)); !ok {
			t.Error("the longer lease has ended")
		}
	}
}

// Of uses at the same moment exactly one passes.
func TestGateLetsOneThrough(t *testing.T) {
	g, now := command.NewGate(), time.Now()
	for round := range 200 {
		var passed, told atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				refusal, ok := g.Reserve(fmt.Sprint("sender", round), kot, now)
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

// The gate against the plainest model of it, over random uses.
func TestGateAgreesWithModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	g, now := command.NewGate(), time.Now()
	last := map[string]time.Time{}
	for range 20_000 {
		now = now.Add(time.Duration(rnd.IntN(40)) * time.Millisecond)
		sender := fmt.Sprint(rnd.IntN(400))
		at, used := last[sender]
		want := !used || now.Sub(at) >= kot.Cooldown
		if _, ok := g.Reserve(sender, kot, now); ok != want {
			t.Fatalf("sender %s: passed %t, the model says %t", sender, ok, want)
		}
		if want {
			last[sender] = now
			if rnd.IntN(4) == 0 {
				g.Refund(sender, kot)
				delete(last, sender)
			}
		}
	}
}

// Whoever comes once must not stay in memory.
func TestGateForgetsWhatIsOver(t *testing.T) {
	g, now := command.NewGate(), time.Now()
	for n := range 100_000 {
		now = now.Add(10 * time.Millisecond) // 500 uses are within a cooldown
		g.Reserve(fmt.Sprint(n), kot, now)
	}
	if n := g.Len(); n > 2_000 {
		t.Errorf("%d uses remembered, about 500 to 1,000 are within a cooldown", n)
	}
}

func TestTallyIsBounded(t *testing.T) {
	tally := command.NewTally()
	for n := 1; n <= 3; n++ {
		if got := tally.Count("ala"); got != n {
			t.Errorf("use %d counted as %d", n, got)
		}
	}
	for n := range 200_000 {
		tally.Count(fmt.Sprint(n))
	}
	if n := tally.Len(); n > 1<<16 {
		t.Errorf("%d people are counted", n)
	}
}
