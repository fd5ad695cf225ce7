package bot_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/transport"
)

// limited is repeat under another name, with limits.
func limited(name string, l cooldown.Limits) *command.Command {
	c := *repeat
	c.Name, c.Limits = name, l
	return &c
}

// refuses asks and reports whether the answer is that one has to wait.
func (s *stage) refuses(r *rig, f frame) bool {
	r.t.Helper()
	before := len(s.sent())
	s.bring(f)
	r.eventually("an answer to "+f.text, func() bool { return len(s.sent()) > before })
	return strings.Contains(s.texts()[before], "Chwila przerwy")
}

// After ala's use of a in her group: who has to wait for what.
func TestCooldownsOfEveryKind(t *testing.T) {
	uses := map[string]frame{
		"again":         {from: "ala", group: home, text: "!a x"},
		"elsewhere":     {from: "ala", group: other, text: "!a x"},
		"alone":         {from: "ala", text: "!a x"},
		"another":       {from: "ela", group: home, text: "!a x"},
		"far away":      {from: "ela", group: other, text: "!a x"},
		"other command": {from: "ela", group: other, text: "!b x"},
		"an admin":      {from: admin, group: home, text: "!a x"},
	}
	for name, tt := range map[string]struct {
		limits cooldown.Limits
		waits  []string
	}{
		"person":           {cooldown.Limits{User: time.Hour}, []string{"again", "elsewhere", "alone"}},
		"person and group": {cooldown.Limits{UserGroup: time.Hour}, []string{"again"}},
		"group":            {cooldown.Limits{Group: time.Hour}, []string{"again", "another"}},
		"command":          {cooldown.Limits{Command: time.Hour}, []string{"again", "elsewhere", "alone", "another", "far away"}},
		"all":              {cooldown.Limits{Global: time.Hour}, []string{"again", "elsewhere", "alone", "another", "far away", "other command"}},
	} {
		t.Run(name, func(t *testing.T) {
			for what, f := range uses {
				s := newStage(true)
				r := s.start(t, bot.Options{}, limited("a", tt.limits), limited("b", tt.limits))
				if s.refuses(r, frame{from: "ala", group: home, text: "!a x"}) {
					t.Fatal("the first has to wait")
				}
				r.stop()
				r = s.start(t, bot.Options{}, limited("a", tt.limits), limited("b", tt.limits))
				if got, want := s.refuses(r, f), slices.Contains(tt.waits, what); got != want {
					t.Errorf("%s has to wait: %t, after a restart", what, got)
				}
				r.stop()
			}
		})
	}
}

// Not what was asked counts but what was had: for what failed nobody waits,
// after a restart too. What may have arrived counts.
func TestCooldownOfWhatFailedIsGivenBack(t *testing.T) {
	for name, tt := range map[string]struct {
		err   error
		waits bool
	}{
		"not sent":              {errors.New("no route"), false},
		"refused":               {&transport.Error{Class: transport.ClassBug}, false},
		"unknown":               {transport.ErrOutcomeUnknown, true},
		"refused after it went": {&transport.Error{Class: transport.ClassTransient}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(true)
			hour := limited("a", cooldown.Limits{User: time.Hour, Group: time.Hour})
			s.refuse(tt.err)
			r := s.start(t, bot.Options{}, hour)
			s.bring(frame{from: "ala", group: home, text: "!a x"})
			r.eventually("tried", func() bool { return r.outcomes("upstream_error") == 1 })
			r.stop()
			r = s.start(t, bot.Options{}, hour)
			if got := s.refuses(r, frame{from: "ala", group: home, text: "!a x"}); got != tt.waits {
				t.Errorf("has to wait: %t", got)
			}
			r.stop()
		})
	}
}

// What an admin sets in a chat counts there, in place of the usual.
func TestAdminSetsACooldownInChat(t *testing.T) {
	s := newStage(true)
	a := limited("a", cooldown.Limits{User: time.Hour})
	r := s.start(t, bot.Options{}, a)
	ask := func(f frame, waits bool) {
		t.Helper()
		if got := s.refuses(r, f); got != waits {
			t.Errorf("%+v has to wait: %t", f, got)
		}
	}
	ala := frame{from: "ala", group: home, text: "!a x"}
	ask(frame{from: admin, group: home, text: "!przerwa a 0"}, false)
	ask(ala, false)
	ask(ala, false)
	r.stop()
	r = s.start(t, bot.Options{}, a)
	ask(ala, false) // a restart remembers it
	ask(frame{from: "ala", group: other, text: "!a x"}, false)
	ask(frame{from: "ala", group: other, text: "!a x"}, true) // there it is the usual one
	ask(frame{from: admin, group: home, text: "!przerwa a 3600"}, false)
	ask(frame{from: "ela", group: home, text: "!a x"}, false)
	ask(frame{from: "ela", group: home, text: "!a x"}, true)
	ask(frame{from: "ela", group: other, text: "!a x"}, false) // not with the usual one's first use
	ask(frame{from: admin, group: home, text: "!przerwa a"}, false)
	r.stop()
}

// Who sends more than may wait is told once; the rest is counted, and nobody
// else waits for it.
func TestFlooderGetsOneNoticeAndHoldsOneSlot(t *testing.T) {
	for _, pressesBack := range []bool{true, false} {
		s := newStage(pressesBack)
		hold := newHolding()
		r := s.start(t, bot.Options{SenderWaiting: 2, Limit: 2}, hold.Command, repeat)
		for range 20 {
			s.bring(frame{from: "ala", group: home, text: "!hold"})
		}
		s.last(r)
		r.eventually("told, and one runs", func() bool { return len(s.sent()) == 2 && len(hold.began) > 0 })
		if n := len(hold.began); n != 1 || r.dropped("sender_busy") != 17 {
			t.Errorf("%d run, %d dropped, want 1 and 17: two wait", n, r.dropped("sender_busy"))
		}
		close(hold.let)
		r.eventually("the rest", func() bool { return len(s.sent()) == 5 })
		r.stop()
		told := 0
		for _, text := range s.texts() {
			if strings.Contains(text, "w kolejce 2 polecenia") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("told %d times: %q", told, s.texts())
		}
	}
}

// Pictures are rationed, because Signal rations them. Who gets none has not
// used the command.
func TestPicturesBeyondTheRationAreRefusedAndDoNotCount(t *testing.T) {
	s := newStage(true)
	s.out.PictureBurst, s.out.PictureEvery = 2, time.Hour
	kot := picture("kot", cooldown.Limits{User: time.Hour})
	r := s.start(t, bot.Options{}, kot, repeat)
	for n, who := range []string{"ala", "ela", "ola"} {
		s.bring(frame{from: who, group: home, text: "!kot"})
		r.eventually("an answer", func() bool { return len(s.sent()) == n+1 })
	}
	if !s.refuses(r, frame{from: "ola", group: home, text: "!kot"}) { // for a moment
		t.Error("a picture can be asked for at once")
	}
	s.bring(frame{from: "ola", group: home, text: "!kot"}) // is told once
	r.eventually("refused again", func() bool { return r.outcomes("rejected") == 3 })
	s.bring(frame{from: "ola", group: home, text: "!repeat last"})
	r.eventually("the last", func() bool { return len(s.sent()) == 5 })
	r.stop()
	for n, o := range s.sent()[:3] {
		refused := strings.Contains(o.Text, "Za dużo zdjęć")
		if (o.Attachment != nil) != (n < 2) || refused != (n == 2) {
			t.Errorf("answer %d is %q, picture: %t", n, o.Text, o.Attachment != nil)
		}
	}
}

// What does not fit is explained whoever finds out, the command itself too, and
// it counts as a use.
func TestCommandMayFindThatItsArgumentsDoNotFit(t *testing.T) {
	s := newStage(true)
	r := s.start(t, bot.Options{}, misfit(cooldown.Limits{User: time.Hour}))
	s.bring(frame{from: "ala", group: home, text: "!miasto Wąchock"})
	r.eventually("explained", func() bool { return len(s.sent()) == 1 })
	if got := s.texts()[0]; !strings.Contains(got, "Wąchock") || !strings.Contains(got, "Użycie: !miasto") {
		t.Errorf("told %q", got)
	}
	if !s.refuses(r, frame{from: "ala", group: home, text: "!miasto Wąchock"}) {
		t.Error("it does not count")
	}
	r.stop()
	if n := r.outcomes("rejected"); n != 2 {
		t.Errorf("%d rejected", n)
	}
}

// An answer without words is a use like any other: a restart knows its cooldown, and
// it is counted.
func TestAnswerWithoutWordsIsAUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		runs := 0
		quiet := &command.Command{Name: "quiet", Limits: cooldown.Limits{User: time.Hour}, Run: func(context.Context, command.Request) (command.Reply, error) {
			runs++
			return command.Reply{}, nil
		}}
		for range 2 {
			r := s.start(t, bot.Options{}, quiet)
			s.bring(frame{from: "ala", group: home, text: "!quiet"})
			synctest.Wait()
			r.stop()
		}
		if runs != 1 || len(s.sent()) != 1 || !strings.Contains(s.texts()[0], "Chwila przerwy") {
			t.Fatalf("ran %d times, answered %q", runs, s.texts())
		}
		r := s.start(t, bot.Options{}, quiet)
		s.bring(frame{from: "ala", group: home, text: "!ja"})
		synctest.Wait()
		r.stop()
		if got := s.texts()[1]; !strings.Contains(got, " 2 polecenia") {
			t.Errorf("told %q of one use and this one", got)
		}
	})
}
