package bot_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/transport"
)

// A server that cannot be reached has nothing of an answer: that and what comes
// behind it wait until it is back.
func TestServerThatIsAwayCostsNoAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		r := s.start(t, bot.Options{}, repeat)
		synctest.Wait()
		s.setAccount(syscall.ECONNREFUSED)
		s.sendWith(func(context.Context, transport.Outgoing) error {
			return fmt.Errorf("send: %w", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
		})
		for n := range 10 {
			s.bring(frame{from: fmt.Sprint("p", n), group: home, text: "!repeat x"})
		}
		time.Sleep(2 * time.Minute)
		if err := r.Ready(t.Context()); err == nil || len(s.sent()) != 0 {
			t.Errorf("ready: %v, %d sent", err, len(s.sent()))
		}
		s.setAccount(nil)
		s.sendWith(nil)
		time.Sleep(20 * time.Second)
		r.stop()
		if len(s.sent()) != 10 || r.sum("quartet.botd.send.unknown") != 0 {
			t.Errorf("%d sent, %v unknown", len(s.sent()), r.sum("quartet.botd.send.unknown"))
		}
	})
}

// A stop while the server is away leaves the answer that waits for it to the next
// start, with its cooldown not begun. A stop while it is being written does not: it
// may have arrived.
func TestStopWhileTheServerIsAwayLosesNoAnswer(t *testing.T) {
	away := fmt.Errorf("send: %w", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
	for name, tt := range map[string]struct {
		send func(context.Context) error
		want []string
	}{
		"away": {func(context.Context) error { return away }, []string{"x"}},
		"stopped in the dial": {func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("send: %w", &net.OpError{Op: "dial", Err: ctx.Err()})
		}, []string{"x"}},
		"being written": {func(ctx context.Context) error { return make(waits).pass(ctx) }, nil},
		"refused": {func(ctx context.Context) error {
			<-ctx.Done()
			return &transport.Error{Class: transport.ClassBug}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(true)
				a := limited("a", cooldown.Limits{User: time.Hour})
				r := s.start(t, bot.Options{DrainTimeout: time.Second, DeleteAttachments: true}, a)
				synctest.Wait()
				s.sendWith(func(ctx context.Context, _ transport.Outgoing) error { return tt.send(ctx) })
				s.setAccount(syscall.ECONNREFUSED)
				s.bring(frame{from: "ala", group: home, text: "!a x", files: []string{"x.png"}})
				time.Sleep(10 * time.Second)
				r.stop()
				if files := s.list(&s.deleted); tt.want != nil && len(files) > 0 {
					t.Errorf("deleted %q before the answer", files)
				}
				s.sendWith(nil)
				s.setAccount(nil)
				r = s.start(t, bot.Options{}, a)
				time.Sleep(time.Minute)
				r.stop()
				r = s.start(t, bot.Options{}, a)
				time.Sleep(time.Minute)
				r.stop()
				if got := s.texts(); !slices.Equal(got, tt.want) {
					t.Errorf("answered %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// A panic of ours ends the message that it came over, for good, and nothing else:
// its sender and its chat go on.
func TestPanicOfOursEndsOneMessage(t *testing.T) {
	s := newStage(true)
	s.sendWith(func(_ context.Context, o transport.Outgoing) error {
		if o.Text == "boom" {
			panic("boom")
		}
		return nil
	})
	r := s.start(t, bot.Options{Limit: 1}, repeat)
	s.bring(frame{from: "ala", group: home, text: "!repeat boom"}, frame{from: "ala", group: home, text: "!repeat on"}, frame{from: "ela", group: home, text: "!repeat too"})
	r.eventually("the others", func() bool { return len(s.sent()) == 2 })
	r.stop()
	if n := r.dropped("panic"); n != 1 {
		t.Errorf("%d counted", n)
	}
	s.sendWith(nil)
	r = s.start(t, bot.Options{}, repeat)
	s.last(r)
	r.stop()
	if slices.Contains(s.texts(), "boom") {
		t.Error("answered after a restart")
	}
}

// The time in which the bot was down is a gap too, where the server keeps nothing.
func TestTimeWithoutTheBotIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(false)
		r := s.start(t, bot.Options{}, repeat)
		synctest.Wait()
		time.Sleep(time.Minute)
		r.stop()
		time.Sleep(time.Hour)
		r = s.start(t, bot.Options{}, repeat)
		synctest.Wait()
		r.stop()
		if gap := r.sum("quartet.botd.receive.gap"); gap < 3600 || gap > 3700 {
			t.Errorf("a gap of %v s", gap)
		}
	})
}
