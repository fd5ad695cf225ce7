package bot_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/transport"
)

// slowly makes each send take its time, and reports one that overlaps another
// to its chat.
func (s *stage) slowly(t *testing.T, took func(o transport.Outgoing) time.Duration) {
	under := map[transport.Chat]bool{} // guarded by s.mu
	s.sendWith(func(_ context.Context, o transport.Outgoing) error {
		s.mu.Lock()
		if under[o.Chat] {
			t.Errorf("two sends at once to %v", o.Chat)
		}
		under[o.Chat] = true
		s.mu.Unlock()
		time.Sleep(took(o))
		s.mu.Lock()
		defer s.mu.Unlock()
		under[o.Chat] = false
		return nil
	})
}

// Replies to one chat go out one after another, in the order in which they were
// ready; those to other chats go out beside them.
func TestRepliesToOneChatNeverOverlapAndKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		s.slowly(t, func(o transport.Outgoing) time.Duration { return time.Duration(1+len(o.Text)%3) * time.Second })
		r := s.start(t, bot.Options{Limit: 4, SenderWaiting: 100}, repeat)
		const chats, people = 3, 10
		for n := range people {
			for c := range chats {
				s.bring(frame{from: fmt.Sprint("p", n), group: fmt.Sprint("g", c), text: fmt.Sprint("!repeat ", n)})
			}
			time.Sleep(time.Millisecond) // so they are ready in this order
		}
		began := time.Now()
		r.eventuallyIn(5*time.Minute, "all", func() bool { return len(s.sent()) == chats*people })
		if took := time.Since(began); took > people*4*time.Second {
			t.Errorf("took %s: the chats waited for each other", took)
		}
		r.stop()
		next := map[transport.Chat]int{}
		for _, o := range s.sent() {
			if o.Text != fmt.Sprint(next[o.Chat]) {
				t.Fatalf("to %v went %s, want %d", o.Chat, o.Text, next[o.Chat])
			}
			next[o.Chat]++
		}
	})
}

// One person's replies keep their order over chats too.
func TestOnePersonsRepliesKeepTheirOrderOverChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		s.slowly(t, func(o transport.Outgoing) time.Duration { return time.Duration(5-len(o.Chat.Group)) * time.Second })
		r := s.start(t, bot.Options{Limit: 4, SenderWaiting: 100}, repeat)
		var want []string
		for n := range 8 {
			s.bring(frame{from: "ala", group: []string{"g", "gg", "ggg"}[n%3], text: fmt.Sprint("!repeat ", n)})
			want = append(want, fmt.Sprint(n))
		}
		time.Sleep(time.Minute)
		if got := s.texts(); !slices.Equal(got, want) {
			t.Errorf("answered %q", got)
		}
		r.stop()
	})
}

// With two slots and one chat whose sends hang, any number of replies to it
// leaves a slot for others.
func TestReplyThatWaitsForItsChatHoldsNoSlot(t *testing.T) {
	s := newStage(true)
	hang := make(waits)
	s.sendWith(func(ctx context.Context, o transport.Outgoing) error {
		if o.Chat.Group == home {
			return hang.pass(ctx)
		}
		return nil
	})
	r := s.start(t, bot.Options{Limit: 2}, repeat)
	for n := range 10 {
		s.bring(frame{from: fmt.Sprint("p", n), group: home, text: "!repeat stuck"})
	}
	s.bring(frame{from: "ala", group: other, text: "!repeat free"})
	r.eventually("others are answered", func() bool { return slices.Contains(s.texts(), "free") })
	close(hang)
	r.eventually("and these then", func() bool { return len(s.sent()) == 11 })
	r.stop()
}

// Beside the sends in slots, as many go out of the replies that waited for their
// chat, and no more.
func TestWaitingRepliesGoOutWithinTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		now, most := 0, 0 // guarded by s.mu
		s.sendWith(func(context.Context, transport.Outgoing) error {
			s.mu.Lock()
			now++
			most = max(most, now)
			s.mu.Unlock()
			time.Sleep(time.Second)
			s.mu.Lock()
			defer s.mu.Unlock()
			now--
			return nil
		})
		r := s.start(t, bot.Options{Limit: 2}, repeat)
		for n := range 60 {
			s.bring(frame{from: fmt.Sprint("p", n), group: fmt.Sprint("g", n/10), text: "!repeat x"})
		}
		time.Sleep(10 * time.Minute)
		r.stop()
		if len(s.sent()) != 60 || most > 4 || most < 3 {
			t.Errorf("%d sent, %d at once", len(s.sent()), most)
		}
	})
}

// A stop lets the replies out that wait for their chat.
func TestStopSendsWhatWaitsForItsChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		s.slowly(t, func(transport.Outgoing) time.Duration { return time.Second })
		r := s.start(t, bot.Options{DrainTimeout: 15 * time.Second}, repeat)
		for n := range 8 {
			s.bring(frame{from: fmt.Sprint("p", n), group: home, text: "!repeat x"})
		}
		synctest.Wait()
		r.stop()
		if n := len(s.sent()); n != 8 {
			t.Errorf("%d sent", n)
		}
	})
}

// When the time for that is over they are left for the next start, and only what
// was being sent is not known to be there.
func TestStopLeavesWhatWaitsForItsChat(t *testing.T) {
	s := newStage(true)
	s.sendWith(func(ctx context.Context, _ transport.Outgoing) error { return make(waits).pass(ctx) })
	r := s.start(t, bot.Options{DrainTimeout: 50 * time.Millisecond, Limit: 2}, repeat)
	for n := range 8 {
		s.bring(frame{from: fmt.Sprint("p", n), group: home, text: fmt.Sprint("!repeat ", n)})
	}
	r.eventually("one is under way", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.tried == 1 })
	r.eventually("all are read", func() bool { return len(s.frames) == 0 })
	r.stop()
	if n := r.sum("quartet.botd.send.unknown"); n != 1 {
		t.Errorf("%v unknown", n)
	}
	s.sendWith(nil)
	r = s.start(t, bot.Options{}, repeat)
	r.eventually("the others", func() bool { return len(s.sent()) == 7 })
	r.stop()
	if n := r.sum("quartet.botd.send.unknown"); n != 0 || len(s.sent()) != 7 {
		t.Errorf("%v unknown, %q", n, s.texts())
	}
}
