package bot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/outbox"
	"quartet/services/botd/internal/transport"
)

// logged is a log that a test reads.
type logged struct {
	mu  sync.Mutex
	all bytes.Buffer // guarded by mu
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// lines are the lines with that in them.
func (l *logged) lines(part string) (all []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, part) {
			all = append(all, line)
		}
	}
	return all
}

func (l *logged) handler() slog.Handler {
	return slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})
}

func limit(after time.Duration, challenges ...string) error {
	return &transport.Error{Class: transport.ClassRateLimit, Code: 429, RetryAfter: after, Challenges: challenges}
}

// A rate limit pauses everything. The message that met it may have arrived and is
// not repeated; all others wait, those too whose reply is ready, and the bot says
// that it is not ready, until Signal has waited long enough.
func TestRateLimitPausesAndLosesNothing(t *testing.T) {
	for _, pressesBack := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(pressesBack)
			log := &logged{}
			s.log = log.handler()
			var sends []time.Duration
			began := time.Now()
			s.sendWith(func(context.Context, transport.Outgoing) error {
				sends = append(sends, time.Since(began))
				if len(sends) == 1 {
					time.Sleep(time.Second) // by then others have their replies
					return limit(3*time.Minute, "token")
				}
				return nil
			})
			r := s.start(t, bot.Options{Limit: 4, SendTimeout: 30 * time.Second}, repeat)
			for n := range 10 {
				s.bring(frame{from: fmt.Sprint("p", n), group: home, text: fmt.Sprint("!repeat ", n)})
			}
			time.Sleep(2 * time.Second)
			for n := range 10 {
				s.bring(frame{from: fmt.Sprint("q", n), group: other, text: fmt.Sprint("!repeat ", n)})
			}
			time.Sleep(time.Minute)
			if err := r.Ready(t.Context()); !errors.Is(err, outbox.ErrPaused) {
				t.Errorf("ready: %v", err)
			}
			if n := len(s.sent()); n != 0 {
				t.Errorf("%d were sent", n)
			}
			time.Sleep(3 * time.Minute)
			if err := r.Ready(t.Context()); err != nil {
				t.Errorf("ready: %v", err)
			}
			r.stop()
			if len(s.sent()) != 19 || len(sends) != 20 || sends[1] < 3*time.Minute {
				t.Errorf("%d sent with %d sends, at %v", len(s.sent()), len(sends), sends)
			}
			if n := r.sum("quartet.botd.dropped"); n != 0 || r.sum("quartet.botd.send.unknown") != 1 {
				t.Errorf("%v dropped", n)
			}
			if said := log.lines("captcha"); len(said) != 1 || !strings.Contains(said[0], "level=ERROR") || !strings.Contains(said[0], "token") {
				t.Errorf("reported as %q", said)
			}
		})
	}
}

// While the pause lasts longer than anybody waits for an answer, they wait in
// vain, and that is counted.
func TestNobodyIsAnsweredLongAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		s.refuse(limit(time.Hour))
		r := s.start(t, bot.Options{MaxAge: 10 * time.Minute}, repeat)
		s.bring(frame{from: "ala", group: home, text: "!repeat 1"})
		synctest.Wait()
		s.bring(frame{from: "ela", group: home, text: "!repeat 2"}, frame{from: "ola", text: "!repeat 3"})
		time.Sleep(2 * time.Hour)
		s.bring(frame{from: "ela", group: home, text: "!repeat 4"})
		synctest.Wait()
		r.stop()
		if n := r.dropped("stale"); n != 2 || !slices.Equal(s.texts(), []string{"4"}) {
			t.Errorf("%d stale, answered %q", n, s.texts())
		}
	})
}

// What waits for the end of a pause waits on over a stop.
func TestStopDuringAPauseLeavesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		s.sendWith(func(context.Context, transport.Outgoing) error {
			time.Sleep(time.Second)
			return limit(time.Hour)
		})
		r := s.start(t, bot.Options{DrainTimeout: time.Second}, repeat)
		for n := range 5 {
			s.bring(frame{from: fmt.Sprint("p", n), group: home, text: fmt.Sprint("!repeat ", n)})
		}
		time.Sleep(2 * time.Second)
		s.bring(frame{from: "ala", group: home, text: "!repeat 5"})
		synctest.Wait()
		r.stop()
		s.sendWith(nil)
		r = s.start(t, bot.Options{}, repeat)
		synctest.Wait()
		r.stop()
		if n := len(s.sent()); n != 5 {
			t.Errorf("%d answered, of 6 with one unknown: %q", n, s.texts())
		}
	})
}

// While our account is not there the bot is not ready and keeps what comes. It
// looks for it, and goes on.
func TestMissingAccountKeepsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		r := s.start(t, bot.Options{}, repeat)
		synctest.Wait()
		gone := &transport.Error{Class: transport.ClassAccount, Text: "Specified account does not exist"}
		s.refuse(gone)
		s.setAccount(gone)
		s.bring(frame{from: "ala", group: home, text: "!repeat first"})
		synctest.Wait()
		for n := range 5 {
			s.bring(frame{from: fmt.Sprint("p", n), group: home, text: "!repeat x"})
		}
		time.Sleep(5 * time.Minute)
		if err := r.Ready(t.Context()); err == nil || len(s.sent()) > 0 {
			t.Errorf("ready: %v, %d sent", err, len(s.sent()))
		}
		s.setAccount(nil)
		time.Sleep(30 * time.Second)
		if err := r.Ready(t.Context()); err != nil || len(s.sent()) != 5 {
			t.Errorf("ready: %v, %d sent", err, len(s.sent()))
		}
		r.stop()
		if n := r.sum("quartet.botd.send.unknown"); n != 0 {
			t.Errorf("%v unknown: it certainly was not sent", n)
		}
	})
}

// A chat that cannot be written to is left alone for a while: nothing is fetched
// for it. Others are answered.
func TestParkedChatIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		runs := 0
		c := *repeat
		c.Run = counting(&runs, repeat)
		s.refuse(&transport.Error{Class: transport.ClassChat, Text: "User is not a group member"})
		r := s.start(t, bot.Options{}, &c)
		for range 3 {
			s.bring(frame{from: "ala", group: home, text: "!repeat parked"})
		}
		s.bring(frame{from: "ala", group: other, text: "!repeat elsewhere"})
		synctest.Wait()
		if runs != 2 || r.dropped("chat_parked") != 2 || !slices.Equal(s.texts(), []string{"elsewhere"}) {
			t.Errorf("%d ran, %d dropped, answered %q", runs, r.dropped("chat_parked"), s.texts())
		}
		time.Sleep(11 * time.Minute)
		s.bring(frame{from: "ala", group: home, text: "!repeat again"})
		synctest.Wait()
		r.stop()
		if !slices.Contains(s.texts(), "again") {
			t.Errorf("answered %q", s.texts())
		}
	})
}

// A chat that may take messages again is not left alone any longer: when it has
// changed, when it is allowed, and when an admin was answered there. Who else
// writes there changes nothing.
func TestParkedChatIsTriedAgainWhenItMayBeBack(t *testing.T) {
	for name, tt := range map[string]struct {
		sign  frame
		heard bool
	}{
		"a group that changed":        {frame{from: "ela", group: home, update: true}, true},
		"allowed":                     {frame{from: admin, text: "!dopuść " + home}, true},
		"allowed there":               {frame{from: admin, group: home, text: "!dopuść"}, true},
		"an admin was answered there": {frame{from: admin, group: home, text: "!repeat here"}, true},
		"an admin said something":     {frame{from: admin, group: home, text: "is it back?"}, false},
		"somebody asks":               {frame{from: "ela", group: home, text: "!repeat here"}, false},
		"another group changed":       {frame{from: "ela", group: other, update: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(true)
				s.refuse(&transport.Error{Class: transport.ClassChat, Text: "User is not a group member"})
				r := s.start(t, bot.Options{}, repeat)
				for _, f := range []frame{
					{from: "ala", group: home, text: "!repeat parked"},
					{from: "ala", group: home, text: "!repeat parked"},
					tt.sign,
					{from: "ala", group: home, text: "!repeat heard"},
				} {
					s.bring(f)
					synctest.Wait()
				}
				r.stop()
				if got := slices.Contains(s.texts(), "heard"); got != tt.heard || slices.Contains(s.texts(), "parked") || r.dropped("chat_parked") == 0 {
					t.Errorf("answered %q, dropped %d", s.texts(), r.dropped("chat_parked"))
				}
			})
		})
	}
}

// Where an admin cannot be answered either, the chat stays parked.
func TestParkedChatThatRefusesAnAdminStaysParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		no := &transport.Error{Class: transport.ClassChat, Text: "User is not a group member"}
		s.refuse(no, no)
		r := s.start(t, bot.Options{}, repeat)
		for _, who := range []string{"ala", admin, "ala"} {
			s.bring(frame{from: who, group: home, text: "!repeat x"})
			synctest.Wait()
		}
		r.stop()
		if s.tried != 2 || r.dropped("chat_parked") != 1 || len(s.texts()) > 0 {
			t.Errorf("%d tries, dropped %d, answered %q", s.tried, r.dropped("chat_parked"), s.texts())
		}
	})
}

// A send that hangs is given up, as one of unknown outcome; meanwhile it holds up
// its own chat and nobody else.
func TestSendThatHangsHoldsUpItsChatOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		first := true // guarded by s.mu
		s.sendWith(func(ctx context.Context, _ transport.Outgoing) error {
			s.mu.Lock()
			hangs := first
			first = false
			s.mu.Unlock()
			if hangs {
				return make(waits).pass(ctx)
			}
			return nil
		})
		r := s.start(t, bot.Options{Limit: 2, SendTimeout: time.Minute}, repeat)
		s.bring(frame{from: "ala", group: home, text: "!repeat hangs"})
		synctest.Wait()
		s.bring(frame{from: "ela", group: home, text: "!repeat behind"}, frame{from: "ola", group: other, text: "!repeat beside"})
		synctest.Wait()
		if got := s.texts(); !slices.Equal(got, []string{"beside"}) {
			t.Errorf("answered %q", got)
		}
		time.Sleep(61 * time.Second)
		r.stop()
		if got := s.texts(); !slices.Equal(got, []string{"beside", "behind"}) || r.sum("quartet.botd.send.unknown") != 1 {
			t.Errorf("answered %q, %v unknown", got, r.sum("quartet.botd.send.unknown"))
		}
	})
}

// The time-out of a send is that of one part: however many a reply has, all of them
// may take theirs. One that hangs is given up, and what is behind it is not sent.
func TestEachPartOfAReplyHasItsTime(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(true)
			s.sendWith(func(ctx context.Context, _ transport.Outgoing) error {
				if hangs && len(s.sent()) == 2 {
					return make(waits).pass(ctx)
				}
				time.Sleep(40 * time.Second)
				return ctx.Err()
			})
			long := strings.Repeat("słowo ", 1200) // 8400 bytes
			r := s.start(t, bot.Options{SendTimeout: time.Minute}, repeat)
			s.bring(frame{from: "ala", group: home, text: "!repeat " + long})
			time.Sleep(9 * time.Minute)
			r.stop()
			want, unknown := 5, 0.0
			if hangs {
				want, unknown = 2, 1
			}
			if got := len(s.sent()); got != want || r.sum("quartet.botd.send.unknown") != unknown {
				t.Errorf("hangs %t: %d parts sent, %v unknown", hangs, got, r.sum("quartet.botd.send.unknown"))
			}
		})
	}
}
