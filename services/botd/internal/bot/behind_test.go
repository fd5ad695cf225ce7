package bot_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/bot"
)

// stuck is a stage whose server stands still for each frame, and whose disk does
// nothing until it is let.
func stuck(t *testing.T, o bot.Options) (s *stage, r *rig, let func()) {
	t.Helper()
	s = newStage(false)
	s.standsStill = true
	r = s.start(t, o, repeat)
	s.bring(frame{from: "first", text: "!repeat begun"})
	r.eventually("it receives", func() bool { return len(s.sent()) == 1 })
	gate := make(chan struct{})
	let = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(let)
	s.fs.SetFail(func(powerloss.Op) error { <-gate; return nil })
	return s, r, let
}

// The server is rid of its frames while the disk takes none. They are taken in
// behind, in their order.
func TestServerThatStandsStillDoesNotWaitForTheDisk(t *testing.T) {
	s, r, let := stuck(t, bot.Options{SenderWaiting: 1000})
	const people, each = 3, 100
	s.flood(people, 0, each)
	r.eventually("the server is rid of all", func() bool { return len(s.frames) == 0 })
	if n := len(s.sent()); n > 1 {
		t.Errorf("%d are answered, and nothing is written", n)
	}
	let()
	r.eventually("all are answered", func() bool { return len(s.sent()) == 1+people*each })
	r.stop()
	s.inOrder(t, people, each, 0)
}

// Where there is no room it waits: nothing is dropped, and nothing overtakes.
func TestServerWaitsForRoom(t *testing.T) {
	s, r, let := stuck(t, bot.Options{SenderWaiting: 5000})
	const all, fit = 1500, 1024
	s.flood(1, 0, all)
	r.eventually("no more fit", func() bool { return len(s.frames) == all-fit-2 }) // one is in hand at either end
	time.Sleep(20 * time.Millisecond)
	if n := len(s.frames); n != all-fit-2 {
		t.Errorf("%d are left", n)
	}
	let()
	r.eventually("all are answered", func() bool { return len(s.sent()) == 1+all })
	r.stop()
	s.inOrder(t, 1, all, 0)
	if n := r.sum("quartet.botd.dropped"); n != 0 {
		t.Errorf("%v dropped", n)
	}
}

// What the server was rid of is written down before a stop is over, however
// little time that has to answer it.
func TestStopTakesInWhatWasLeftBehind(t *testing.T) {
	s, r, let := stuck(t, bot.Options{SenderWaiting: 1000, Limit: 1, DrainTimeout: time.Nanosecond})
	const people, each = 2, 100
	s.flood(people, 0, each)
	r.eventually("the server is rid of all", func() bool { return len(s.frames) == 0 })
	time.AfterFunc(20*time.Millisecond, let)
	r.stop()
	before := len(s.sent())
	r = s.start(t, bot.Options{SenderWaiting: 1000}, repeat)
	r.eventually(fmt.Sprint("the rest is answered, after ", before), func() bool { return len(s.sent()) == 1+people*each })
	r.stop()
	s.inOrder(t, people, each, 0)
}
