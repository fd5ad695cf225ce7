package bot_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/bot"
)

// Time without a link is measured: what came in it may be lost.
func TestTimeWithoutALinkIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(false)
		log := &logged{}
		s.log = log.handler()
		r := s.start(t, bot.Options{}, repeat)
		synctest.Wait()
		if gap := r.sum("quartet.botd.receive.gap"); gap != 0 {
			t.Errorf("%v s before anything broke", gap)
		}
		s.bring(frame{from: "ala", text: "!repeat a"})
		synctest.Wait()
		time.Sleep(3 * time.Second) // a broken link may have been so since its last sign of life
		s.setAccount(errors.New("connection refused"))
		s.cut <- errors.New("connection reset")
		time.Sleep(10 * time.Minute)
		if gap := r.sum("quartet.botd.receive.gap"); gap < 600 || gap > 603 { // an alert has to see it while it lasts
			t.Errorf("a gap of %v s after ten minutes", gap)
		}
		s.setAccount(nil)
		time.Sleep(time.Minute)
		s.bring(frame{from: "ala", text: "!repeat b"})
		synctest.Wait()
		r.stop()
		if gap := r.sum("quartet.botd.receive.gap"); gap < 603 || gap > 633 {
			t.Errorf("a gap of %v s", gap)
		}
		if got := s.texts(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("answered %q", got)
		}
		if lines := log.lines("msg=receiving"); len(lines) != 2 || !strings.Contains(lines[1], "gap=10m") {
			t.Errorf("logged %q", lines)
		}
	})
}

// A server that is away is asked again and again, with more and more patience, and
// before each link whether it would have us. Meanwhile the bot is not ready and
// says why.
func TestLostServerIsLookedForWithPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(false)
		s.setAccount(errors.New("connection refused"))
		r := s.start(t, bot.Options{}, repeat)
		asked := func(d time.Duration) int32 {
			before := s.checks.Load()
			time.Sleep(d)
			return s.checks.Load() - before
		}
		if n := asked(10 * time.Second); n < 4 || n > 8 {
			t.Errorf("%d times in the first 10 s", n)
		}
		asked(time.Minute)
		if n := asked(10 * time.Minute); n < 20 || n > 41 {
			t.Errorf("%d times in 10 min later on", n)
		}
		if err := r.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("ready: %v", err)
		}
		if n := s.links.Load(); n != 0 {
			t.Errorf("%d links to a server that would not have us", n)
		}
		s.setAccount(nil)
		time.Sleep(31 * time.Second)
		if err := r.Ready(t.Context()); err != nil || s.links.Load() != 1 {
			t.Errorf("ready: %v, %d links", err, s.links.Load())
		}
		before := s.checks.Load()
		s.cut <- errors.New("server restarts")
		time.Sleep(31 * time.Second)
		if n := s.checks.Load() - before; n != 1 || s.links.Load() != 2 {
			t.Errorf("asked %d times before link %d", n, s.links.Load())
		}
		r.stop()
		if err := r.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("ready after a stop: %v", err)
		}
	})
}

// A server that hangs up at once is not hammered either.
func TestServerThatHangsUpIsNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(false)
		r := s.start(t, bot.Options{}, repeat)
		done := time.After(10 * time.Minute)
		for {
			select {
			case s.cut <- errors.New("bye"):
				continue
			case <-done:
			}
			break
		}
		r.stop()
		if n := s.links.Load(); n < 20 || n > 50 {
			t.Errorf("%d links in 10 min", n)
		}
	})
}

// While the server does not know our account the bot is not ready, though frames
// may come.
func TestBotIsNotReadyWithoutItsAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(false)
		r := s.start(t, bot.Options{}, repeat)
		synctest.Wait()
		s.setAccount(errors.New("our account is not there"))
		time.Sleep(20 * time.Second) // an answer is good for a while
		for range 100 {
			if err := r.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "account") {
				t.Errorf("ready: %v", err)
			}
		}
		if n := s.checks.Load(); n > 3 {
			t.Errorf("the server was asked %d times", n)
		}
		s.setAccount(nil)
		time.Sleep(20 * time.Second)
		if err := r.Ready(t.Context()); err != nil {
			t.Errorf("ready: %v", err)
		}
		r.stop()
	})
}

// How long no frame has come is told whatever the link says: a server that
// answers pings may have stopped to hand frames on. Self-tests are no frames.
func TestSilenceOfSignalIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(false)
		r := s.start(t, bot.Options{SelftestGroup: home}, repeat)
		silence := func() float64 { return r.sum("quartet.botd.receive.silence") }
		time.Sleep(time.Hour)
		if got := silence(); got != 3600 {
			t.Errorf("%v s after an hour without any", got)
		}
		s.bring(frame{from: "ala", group: home, receipts: []int64{1}}) // of whatever kind
		synctest.Wait()
		time.Sleep(5 * time.Second)
		if got := silence(); got != 5 {
			t.Errorf("%v s after one", got)
		}
		s.cut <- errors.New("broken")
		time.Sleep(time.Minute)
		if w := probe(r, `{"text":"!repeat x"}`, nil); w.Code != 200 {
			t.Errorf("self-test: %d %s", w.Code, w.Body)
		}
		if got := silence(); got != 65 {
			t.Errorf("%v s over a new link and a self-test", got)
		}
		r.stop()
	})
}
