package bot_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/cooldown"
)

func TestQuickSecondCommandWaitsForCooldown(t *testing.T) {
	kot := echo()
	kot.Limits.User = time.Hour
	r := newRig(t, bot.Options{}, kot)
	for range 5 {
		r.say("ala", "!echo kot")
	}
	r.say("ela", "!echo kot")
	var served, told int
	for range 3 {
		switch m := r.next().Message; {
		case strings.HasSuffix(m, ":kot"):
			served++
		case strings.Contains(m, "Chwila przerwy") && strings.Contains(m, "za 1 godzinę"):
			told++
		}
	}
	if served != 2 || told != 1 {
		t.Errorf("%d served and %d told to wait, want 2 and 1", served, told)
	}
	r.eventually("the others were refused in silence", func() bool { return r.outcomes("rejected") == 4 })
	if len(r.replies) != 0 {
		t.Errorf("more was sent: %+v", <-r.replies)
	}
}

func TestFailedCommandIsToldAndDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		flaky := &command.Command{Name: "kot", Limits: cooldown.Limits{User: time.Hour}, Run: func(context.Context, command.Request) (command.Reply, error) {
			if calls++; calls == 1 {
				return command.Reply{}, errors.New("HTTP status 503")
			}
			return command.Reply{Text: "kot"}, nil
		}}
		s := newStage(true)
		r := s.start(t, bot.Options{}, flaky)
		for _, want := range []string{"Nie udało się", "za 5 sekund", "kot"} {
			s.bring(frame{from: "ala", group: home, text: "!kot"})
			synctest.Wait()
			if texts := s.texts(); !strings.Contains(texts[len(texts)-1], want) || strings.Contains(texts[0], "503") {
				t.Errorf("told %q, want %s", texts, want)
			}
			if want != "Nie udało się" {
				time.Sleep(5 * time.Second)
			}
		}
		r.stop()
		if failed, ok := r.outcomes("upstream_error"), r.outcomes("ok"); failed != 1 || ok != 1 {
			t.Errorf("%d failed and %d served", failed, ok)
		}
	})
}

// However fast somebody types, what fails for them asks others once in a while,
// also when they get no picture because there were too many; and nobody waits for
// them. Where there is no cooldown they do not wait either.
func TestFailingUsesAreHeldBack(t *testing.T) {
	const each, minute = 100 * time.Millisecond, time.Minute
	for name, tt := range map[string]struct {
		limits cooldown.Limits
		err    error
		runs   int
	}{
		"failing":             {cooldown.Limits{User: time.Hour}, errors.New("HTTP status 404"), 12},
		"short cooldown":      {cooldown.Limits{User: time.Second}, errors.New("HTTP status 500"), 60},
		"no personal one":     {cooldown.Limits{Command: time.Hour}, errors.New("HTTP status 500"), 12},
		"no cooldown":         {cooldown.Limits{}, errors.New("HTTP status 500"), 600},
		"more than is let go": {cooldown.Limits{User: time.Hour}, nil, 12},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				town := picture("town", tt.limits)
				show := town.Run
				town.Run = func(ctx context.Context, r command.Request) (command.Reply, error) {
					if runs++; tt.err != nil {
						return command.Reply{}, tt.err
					}
					return show(ctx, r)
				}
				s := newStage(true)
				s.out.PictureBurst, s.out.PictureEvery = 1, time.Hour
				r := s.start(t, bot.Options{}, town)
				if tt.err == nil { // somebody else has the only picture
					s.bring(frame{from: "ela", group: home, text: "!town"})
					synctest.Wait()
					runs = 0
				}
				for range minute / each {
					s.bring(frame{from: "ala", group: home, text: "!town"})
					synctest.Wait()
					time.Sleep(each)
				}
				if runs != tt.runs {
					t.Errorf("it ran %d times in a minute, want %d", runs, tt.runs)
				}
				s.bring(frame{from: "ola", group: home, text: "!town"})
				synctest.Wait()
				if runs == tt.runs {
					t.Error("somebody else has to wait")
				}
				r.stop()
			})
		})
	}
}

// What somebody did not get is none of the uses that they are told of: what failed,
// and a picture beyond the ration. What does not fit is one.
func TestFailedUseIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		s.out.PictureBurst, s.out.PictureEvery = 1, time.Hour
		bad := &command.Command{Name: "bad", Run: func(context.Context, command.Request) (command.Reply, error) {
			return command.Reply{}, errors.New("HTTP status 503")
		}}
		r := s.start(t, bot.Options{}, bad, picture("kot", cooldown.Limits{}), misfit(cooldown.Limits{}))
		for _, text := range []string{"!bad", "!bad", "!kot", "!kot", "!kot", "!miasto Wąchock"} {
			s.bring(frame{from: "ala", group: home, text: text})
			synctest.Wait()
			time.Sleep(8 * time.Second) // she is told of every second one
		}
		s.bring(frame{from: "ala", group: home, text: "!ja"})
		synctest.Wait()
		r.stop()
		if got := s.texts(); !strings.Contains(got[len(got)-1], " 3 polecenia") {
			t.Errorf("told %q", got)
		}
	})
}

func TestReplyThatSurelyDidNotGoOutDoesNotCount(t *testing.T) {
	kot := echo()
	kot.Limits.User = time.Hour
	r := newRig(t, bot.Options{}, kot)
	r.answerSendsWith(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"invalid request"}`, http.StatusBadRequest)
	})
	r.say("ala", "!echo 1")
	r.next()
	r.eventually("counted", func() bool { return r.outcomes("upstream_error") == 1 })
	r.answerSendsWith(nil)
	r.say("ala", "!echo 2")
	if got := r.next(); got.Message != "ALA:2" {
		t.Errorf("the refused reply counted: %q", got.Message)
	}
}

// A send that got no answer, or one that nobody understands, may have arrived:
// it is not repeated, and it counts.
func TestReplyOfUnknownOutcomeIsNotRepeated(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"timeout": func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() },
		"upstream_error": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":"x"}`, http.StatusBadRequest)
		},
	} {
		t.Run(name, func(t *testing.T) {
			kot := echo()
			kot.Limits.User = time.Hour
			r := newRig(t, bot.Options{SendTimeout: time.Second}, kot)
			r.answerSendsWith(answer)
			r.say("ala", "!echo 1")
			r.next()
			r.eventually("counted", func() bool { return r.outcomes(name) == 1 })
			r.answerSendsWith(nil)
			r.say("ala", "!echo 2")
			if got := r.next(); !strings.Contains(got.Message, "Chwila przerwy") {
				t.Errorf("the second reply is %q", got.Message)
			}
		})
	}
}

func TestPanicEndsOneRequestOnly(t *testing.T) {
	boom := &command.Command{Name: "boom", Run: func(context.Context, command.Request) (command.Reply, error) { panic("boom") }}
	r := newRig(t, bot.Options{Limit: 1}, boom, echo())
	r.say("ala", "!boom")
	r.next()
	r.say("ala", "!echo alive")
	if got := r.next(); got.Message != "ALA:alive" {
		t.Errorf("then came %q", got.Message)
	}
	r.eventually("counted", func() bool { return r.outcomes("internal_error") == 1 })
}

func TestSlowCommandIsCutOff(t *testing.T) {
	slow := newGated("slow")
	r := newRig(t, bot.Options{CommandTimeout: 100 * time.Millisecond}, slow.Command)
	r.say("ala", "!slow")
	if got := r.next(); !strings.Contains(got.Message, "Nie udało się") {
		t.Errorf("told %q", got.Message)
	}
	r.eventually("counted", func() bool { return r.outcomes("timeout") == 1 })
}

func TestStopServesWhatWasTaken(t *testing.T) {
	slow := newGated("slow")
	r := newRig(t, bot.Options{Limit: 1}, slow.Command)
	for n := range 5 {
		r.say("ala", fmt.Sprint("!slow ", n))
	}
	r.eventually("all have been read", func() bool { return r.count("quartet.botd.frames", "kind", "text") == 5 })
	var stopped sync.WaitGroup
	stopped.Go(r.stop)
	r.eventually("not receiving any more", func() bool { return r.Ready(t.Context()) != nil })
	close(slow.let)
	stopped.Wait()
	for n := range 5 {
		if got := r.next(); got.Message != fmt.Sprint("ALA:", n) {
			t.Errorf("reply %d is %q", n, got.Message)
		}
	}
}

func TestStopCountsWhatItHadToLeave(t *testing.T) {
	slow := newGated("slow") // never let
	r := newRig(t, bot.Options{Limit: 2, DrainTimeout: 100 * time.Millisecond}, slow.Command)
	for range 5 {
		r.say("ala", "!slow")
		r.say("ela", "!slow")
	}
	r.eventually("all have been read", func() bool { return r.count("quartet.botd.frames", "kind", "text") == 10 })
	r.stop()
	if left, ended := r.dropped("shutdown"), r.outcomes("canceled"); left != 8 || ended != 2 {
		t.Errorf("%d left and %d canceled, want 8 and 2", left, ended)
	}
}

// What was just taken in when the time was over is left as well, and not lost.
func TestStopCountsWhatWasOnItsWay(t *testing.T) {
	idle := bot.NewIdle(t, number, echo())
	err := idle.AbandonLate([]byte(`{"account":"+15550100000","envelope":{"sourceUuid":"u","dataMessage":{"message":"!echo x"}}}`))
	if err == nil || !strings.Contains(err.Error(), "shutdown") {
		t.Errorf("it ended with %v", err)
	}
}

func TestLostWebsocketComesBack(t *testing.T) {
	r := newRig(t, bot.Options{}, echo())
	r.frames <- strings.Repeat("x", 100) // a frame that is none must not matter
	r.closeSocket()
	r.eventually("not ready without a websocket", func() bool { return r.Ready(t.Context()) != nil })
	r.eventually("ready again", func() bool { return r.Ready(t.Context()) == nil })
	r.say("ala", "!echo again")
	if got := r.next(); got.Message != "ALA:again" {
		t.Errorf("then came %q", got.Message)
	}
}
