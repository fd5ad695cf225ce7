package bot_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/transport"
)

// tight is a bot whose backlog has room for two or three.
var tight = bot.Options{BacklogBytes: 3 << 10, Limit: 1, SenderWaiting: 1000}

// flood brings n commands of each of some people.
func (s *stage) flood(people, from, to int) {
	for n := from; n < to; n++ {
		for p := range people {
			s.bring(frame{from: fmt.Sprint("p", p), group: home, at: int64(100 + n), text: fmt.Sprintf("!repeat p%d %d", p, n)})
		}
	}
}

// inOrder checks that everybody got everything, once and in order, but for what
// is missing of it at most.
func (s *stage) inOrder(t *testing.T, people, each, missing int) {
	t.Helper()
	got := map[string]int{}
	for _, text := range s.texts() {
		var p, n int
		if _, err := fmt.Sscanf(text, "p%d %d", &p, &n); err != nil {
			continue
		}
		who := fmt.Sprint("p", p)
		if n < got[who] {
			t.Fatalf("%s got %d after %d", who, n, got[who]-1)
		}
		missing -= n - got[who]
		got[who] = n + 1
	}
	for p := range people {
		missing -= each - got[fmt.Sprint("p", p)]
	}
	if missing < 0 {
		t.Errorf("%d more are missing than may be: %v", -missing, got)
	}
}

// What finds no room in memory waits on disk, and everything is answered, in
// each person's order.
func TestFullBacklogWaitsOnDisk(t *testing.T) {
	s := newStage(false)
	hold := newHolding()
	r := s.start(t, tight, repeat, hold.Command)
	s.bring(frame{from: "first", group: home, text: "!hold"})
	<-hold.began
	const people, each = 5, 100
	s.flood(people, 0, each)
	r.eventually("all are read", func() bool { return r.count("quartet.botd.frames", "kind", "text") == people*each+1 })
	if n := r.Status(t.Context()).Spilled; n < people*each-5 {
		t.Errorf("%d wait on disk", n)
	}
	close(hold.let)
	r.eventually("all are answered", func() bool { return len(s.sent()) == people*each+1 })
	s.last(r) // and then memory has room again
	if n := r.Status(t.Context()).Spilled; n != 0 {
		t.Errorf("%d wait on disk", n)
	}
	r.stop()
	s.inOrder(t, people, each, 0)
	if n := r.sum("quartet.botd.dropped"); n != 0 {
		t.Errorf("%v dropped", n)
	}
}

// New ones come while the disk is being emptied: none overtakes.
func TestNothingOvertakesWhatWaitsOnDisk(t *testing.T) {
	s := newStage(false)
	r := s.start(t, tight, repeat)
	const people, each = 3, 200
	for n := range each {
		s.flood(people, n, n+1)
		if n%20 == 0 {
			r.eventually("some are answered", func() bool { return len(s.sent()) > people*n/2 })
		}
	}
	r.eventually("all are answered", func() bool { return len(s.sent()) == people*each })
	r.stop()
	s.inOrder(t, people, each, 0)
}

// A stop in the middle, and another, lose nothing and repeat nothing.
func TestWhatWaitsOnDiskIsAnsweredAfterARestart(t *testing.T) {
	s := newStage(false)
	const people, each = 3, 100
	step := make(waits)
	s.sendWith(func(ctx context.Context, _ transport.Outgoing) error {
		select {
		case <-step:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("not written: %w", ctx.Err()) // certainly not sent
		}
	})
	o := tight
	o.DrainTimeout = 20 * time.Millisecond
	r := s.start(t, o, repeat)
	s.flood(people, 0, each)
	r.eventually("all are read", func() bool { return r.count("quartet.botd.frames", "kind", "text") == people*each })
	const lives = 4
	for range lives {
		for range 40 {
			step <- struct{}{}
		}
		r.stop()
		r = s.start(t, o, repeat)
	}
	s.sendWith(nil)
	close(step)
	r.eventually("the rest", func() bool {
		return len(s.sent()) >= people*each-lives-1 && r.Status(t.Context()).Spilled+r.Status(t.Context()).Waiting == 0
	})
	r.stop()
	s.inOrder(t, people, each, lives+1) // what was being sent at a stop has failed
}

// After a kill and after a loss of power everything that was safe on the disk is
// answered, and what was answered is not again.
func TestWhatWaitsOnDiskSurvivesALossOfPower(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			s := newStage(false)
			let := make(waits)
			s.sendWith(func(ctx context.Context, _ transport.Outgoing) error { return let.pass(ctx) })
			o := tight
			o.DrainTimeout = time.Second
			r := s.start(t, o, repeat)
			const people, each = 3, 50
			s.flood(people, 0, each)
			time.Sleep(time.Second)
			answered := rng.IntN(people * each)
			for range answered {
				let <- struct{}{}
			}
			time.Sleep(time.Second) // all that was done is synced, one is under way
			lost := s.fs.AfterCrash(rng)
			r.stop()
			s.fs = lost
			s.sendWith(nil)
			r = s.start(t, o, repeat)
			time.Sleep(time.Minute)
			r.stop()
			if n := len(s.sent()); n != people*each-1 {
				t.Errorf("seed %d: %d answers, %d before the loss", seed, n, answered)
			}
			s.inOrder(t, people, each, 1) // of that one nobody knows
		})
	}
}

// What an earlier life left may find no room: the bot receives all the same, or
// messages would be lost at the server, and in order.
func TestBotReceivesThoughWhatWasLeftFindsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(false)
		s.sendWith(func(context.Context, transport.Outgoing) error { return limit(time.Hour) })
		o := tight
		o.DrainTimeout, o.MaxAge = time.Second, 3*time.Hour
		r := s.start(t, o, repeat)
		s.bring(frame{from: "first", text: "!repeat limited"})
		synctest.Wait()
		const people, each = 2, 20
		s.flood(people, 0, each)
		synctest.Wait()
		r.stop()
		let := make(waits)
		s.sendWith(func(ctx context.Context, _ transport.Outgoing) error { return let.pass(ctx) })
		o.BacklogBytes /= 2
		links := s.links.Load()
		r = s.start(t, o, repeat)
		synctest.Wait()
		if s.links.Load() != links+1 {
			t.Error("it does not receive")
		}
		s.flood(people, each, 2*each)
		synctest.Wait()
		close(let)
		time.Sleep(10 * time.Second)
		r.stop()
		s.inOrder(t, people, 2*each, 0)
	})
}

// When the disk may take no more either it is counted, and only that is lost.
func TestFullDiskIsCounted(t *testing.T) {
	s := newStage(false)
	s.spill = 256 << 10
	hold := newHolding()
	r := s.start(t, tight, repeat, hold.Command)
	s.bring(frame{from: "first", group: home, text: "!hold"})
	<-hold.began
	const all = 400
	for n := range all {
		s.bring(frame{from: fmt.Sprint("p", n), group: home, text: "!repeat " + strings.Repeat("x", 1500)})
	}
	r.eventually("all are read", func() bool { return r.count("quartet.botd.frames", "kind", "text") == all+1 })
	close(hold.let)
	// What is read last may be counted as dropped a moment later.
	dropped := func() int { return int(r.dropped("backlog_full")) }
	r.eventually("each is answered or counted", func() bool { return len(s.sent())+dropped() == all+1 })
	if n := dropped(); n < 100 || n > all-100 {
		t.Errorf("%d dropped", n)
	}
	r.stop()
}

// On disk counts what counts in memory: it is taken once, its author may take it
// back, nobody has too much there.
func TestWhatWaitsOnDiskIsKnown(t *testing.T) {
	s := newStage(false)
	hold := newHolding()
	o := tight
	o.SenderWaiting = 3
	r := s.start(t, o, repeat, hold.Command)
	s.bring(frame{from: "first", group: home, text: "!hold"})
	<-hold.began
	for n := range 5 { // fill the memory
		s.bring(frame{from: fmt.Sprint("p", n), group: home, text: "!repeat x"})
	}
	s.bring(
		frame{from: "ala", group: home, at: 1, text: "!repeat ala"},
		frame{from: "ala", group: home, at: 1, text: "!repeat ala"},
		frame{from: "ela", group: home, at: 1, text: "!repeat ela"},
		frame{from: "ela", group: home, deletes: 1},
	)
	for n := range 10 {
		s.bring(frame{from: "ola", group: home, text: fmt.Sprint("!repeat ola ", n)})
	}
	r.eventually("ola is told", func() bool { return len(s.sent()) == 1 })
	r.eventually("all are read", func() bool { return r.dropped("sender_busy") == 7 })
	close(hold.let)
	r.eventually("the rest", func() bool { return len(s.sent()) == 1+1+5+1+3 })
	s.last(r)
	r.stop()
	if slices.Contains(s.texts(), "ela") || r.dropped("duplicate") != 1 {
		t.Errorf("answered %q, %d duplicates", s.texts(), r.dropped("duplicate"))
	}
}

// What waited there for too long is not answered.
func TestWhatWaitsOnDiskForTooLongIsStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(false)
		hold := newHolding()
		o := tight
		o.MaxAge, o.CommandTimeout = time.Minute, time.Hour
		r := s.start(t, o, repeat, hold.Command)
		s.bring(frame{from: "first", group: home, text: "!hold"})
		<-hold.began
		s.flood(10, 0, 1)
		time.Sleep(2 * time.Minute)
		close(hold.let)
		s.last(r)
		r.stop()
		if n := r.dropped("stale"); n != 10 || len(s.sent()) != 2 {
			t.Errorf("%d stale, answered %q", n, s.texts())
		}
	})
}
