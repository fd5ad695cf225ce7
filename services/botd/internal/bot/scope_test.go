package bot_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/transport"
)

const (
	home  = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	other = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
)

// closed is a bot that answers in one group and nowhere else by itself.
var closed = bot.Options{Groups: []string{home}}

// last has one more command answered, so that all before it were seen.
func (s *stage) last(r *rig) {
	r.t.Helper()
	n := len(s.texts())
	s.bring(frame{from: "last", group: home, text: "!repeat last"})
	r.eventually("the last answer", func() bool { return slices.Contains(s.texts()[n:], "last") })
}

// In a group that nobody allowed the bot is silent. Admins are told once, with
// what they have to write, and that is what allows it.
func TestUnknownGroupIsIgnoredUntilAnAdminAllowsIt(t *testing.T) {
	s := newStage(true)
	r := s.start(t, closed, repeat)
	for range 3 {
		s.bring(frame{from: "ala", group: other, title: "Koty", text: "!repeat heard?"})
	}
	r.eventually("an admin is told, and all are dropped", func() bool { return len(s.sent()) == 1 && r.dropped("unknown_group") == 3 })
	told := s.sent()[0]
	if (told.Chat != transport.Chat{User: admin}) || !strings.Contains(told.Text, "Koty") {
		t.Errorf("told %+v", told)
	}
	_, call, _ := strings.Cut(told.Text, "\n")
	if !strings.HasSuffix(call, other) {
		t.Fatalf("to allow it: %q", call)
	}
	s.bring(frame{from: admin, text: call})
	r.eventually("it is allowed", func() bool { return len(s.sent()) == 2 })
	s.bring(frame{from: "ala", group: other, text: "!repeat heard"})
	r.eventually("it answers there", func() bool { return len(s.sent()) == 3 })
	if got := s.sent()[2]; got.Text != "heard" || got.Chat.Group != other {
		t.Errorf("answered %+v", got)
	}
	r.stop()
	r = s.start(t, closed, repeat)
	s.bring(frame{from: "ala", group: other, text: "!repeat still"})
	r.eventually("it is allowed after a restart", func() bool { return slices.Contains(s.texts(), "still") })
}

// Of a group that calls on after a restart admins have been told.
func TestAdminsAreToldOfAGroupOnceForAll(t *testing.T) {
	s := newStage(true)
	r := s.start(t, closed, repeat)
	s.bring(frame{from: "ala", group: other, text: "!repeat a"})
	r.eventually("an admin is told", func() bool { return len(s.sent()) == 1 })
	r.stop()
	r = s.start(t, closed, repeat)
	s.bring(frame{from: "ala", group: other, text: "!repeat b"})
	s.last(r)
	r.stop()
	if got := s.texts(); len(got) != 2 {
		t.Errorf("sent %q", got)
	}
}

// A group that calls while nothing can be sent is told of when something can.
func TestAdminsAreToldOfAGroupThatCalledDuringAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		r := s.start(t, closed, repeat)
		s.refuse(&transport.Error{Class: transport.ClassRateLimit})
		s.bring(frame{from: "ala", group: home, text: "!repeat limited"})
		synctest.Wait()
		s.bring(frame{from: "ala", group: other, text: "!repeat a"})
		time.Sleep(2 * time.Minute)
		s.bring(frame{from: "ala", group: other, text: "!repeat b"})
		synctest.Wait()
		if got := s.sent(); len(got) != 1 || got[0].Chat.User != admin {
			t.Errorf("sent %+v", got)
		}
		r.stop()
	})
}

// As long as no admin certainly was told of a group, they are told at a later call:
// soon where it is certain that they were not, else in an hour.
func TestAdminsAreToldOfAGroupAgainIfNobodyWas(t *testing.T) {
	for name, tt := range map[string]struct {
		err     error
		told    int // within half an hour of calls, and then in two
		in2hour int
	}{
		"told":     {nil, 1, 1},
		"not told": {&transport.Error{Class: transport.ClassBug}, 1, 1},
		"unknown":  {&transport.Error{Class: transport.ClassTransient}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(true)
				s.refuse(tt.err)
				r := s.start(t, closed, repeat)
				for minute := range 120 {
					s.bring(frame{from: "ala", group: other, text: "!repeat a"}, frame{from: "ela", group: other, text: "!repeat a"})
					synctest.Wait()
					if n := len(s.sent()); minute == 30 && n != tt.told {
						t.Errorf("told %d times in half an hour, want %d", n, tt.told)
					}
					time.Sleep(time.Minute)
				}
				r.stop()
				if n := len(s.sent()); n != tt.in2hour {
					t.Errorf("told %d times in two hours, want %d", n, tt.in2hour)
				}
			})
		})
	}
}

// A group that calls on while admins are being told of it is told of once, however
// long that takes.
func TestAdminsAreToldOfAGroupOnceWhileItCallsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		o := bot.Options{Groups: []string{home}}
		for n := range 9 {
			o.Admins = append(o.Admins, fmt.Sprint("+1555010000", n))
		}
		s.slowly(t, func(transport.Outgoing) time.Duration { return 9 * time.Second })
		r := s.start(t, o, repeat)
		for range 30 {
			s.bring(frame{from: "ala", group: other, text: "!repeat a"})
			time.Sleep(10 * time.Second)
		}
		r.stop()
		var told []string
		for _, out := range s.sent() {
			told = append(told, out.Chat.User)
		}
		if want := append(o.Admins, admin); !slices.Equal(told, want) {
			t.Errorf("told %q", told)
		}
	})
}

func TestAdminsAreHeardEverywhere(t *testing.T) {
	s := newStage(true)
	r := s.start(t, closed, repeat)
	s.bring(
		frame{from: strings.ToUpper(admin), group: other, text: "!repeat in a group"},
		frame{from: strings.ToUpper(admin), text: "!repeat alone"},
	)
	r.answered(s.daemon, "in a group", "alone")
	r.stop()
}

func TestDirectChatsCanBeSwitchedOff(t *testing.T) {
	for _, direct := range []bool{false, true} {
		s := newStage(true)
		r := s.start(t, bot.Options{Groups: []string{home}, Direct: direct}, repeat)
		s.bring(frame{from: "ala", text: "!repeat alone"})
		s.last(r)
		r.stop()
		if answered, counted := slices.Contains(s.texts(), "alone"), r.dropped("not_direct") == 1; answered != direct || counted == direct {
			t.Errorf("with Direct %t: answered %t, counted %t", direct, answered, counted)
		}
	}
}

// Whom an admin has ignored gets no answer, after a restart too, until that is
// taken back. Admins cannot be ignored.
func TestIgnoredPersonIsNotAnswered(t *testing.T) {
	const ala = "11111111-1111-4111-8111-111111111111"
	s := newStage(true)
	r := s.start(t, closed, repeat)
	say := func(n int) {
		t.Helper()
		s.bring(frame{from: ala, group: home, text: "!repeat ala"})
		s.last(r)
		count := func() (got int) {
			for _, text := range s.texts() {
				if text == "ala" {
					got++
				}
			}
			return got
		}
		r.eventually(fmt.Sprint(n, " answers"), func() bool { return count() >= n })
		if got := count(); got != n {
			t.Errorf("%d answers, want %d", got, n)
		}
	}
	ask := func(text string) {
		t.Helper()
		before := len(s.sent())
		s.bring(frame{from: admin, text: text})
		r.eventually(text, func() bool { return len(s.sent()) > before })
	}
	say(1)
	ask("!ignoruj " + ala)
	say(1)
	r.stop()
	if n := r.dropped("ignored"); n != 1 {
		t.Errorf("%d dropped", n)
	}
	r = s.start(t, closed, repeat)
	say(1)
	ask("!słuchaj " + ala)
	say(2)
	ask("!ignoruj " + admin)
	ask("!repeat heard")
	r.stop()
}

// A group that an admin made the bot leave stays without answers, whatever the
// operator's list says, until it is allowed again.
func TestForbiddenGroupIsSilentWhereAllAreAllowed(t *testing.T) {
	s := newStage(true)
	r := s.start(t, bot.Options{EveryGroup: true, Groups: []string{}}, repeat)
	if err := r.Rules.Forbid(other); err != nil {
		t.Fatal(err)
	}
	s.bring(frame{from: "ala", group: other, text: "!repeat silent"})
	r.eventually("dropped", func() bool { return r.dropped("unknown_group") == 1 })
	if err := r.Rules.Allow(other); err != nil {
		t.Fatal(err)
	}
	s.bring(frame{from: "ala", group: other, text: "!repeat heard"})
	r.eventually("answered", func() bool { return slices.Contains(s.texts(), "heard") })
	r.stop()
}

func TestSwitchedOffCommandIsRefusedThereOnly(t *testing.T) {
	s := newStage(true)
	runs := 0
	counted := *repeat
	counted.Run = nil
	counted.Run = counting(&runs, repeat)
	r := s.start(t, bot.Options{}, &counted)
	ask := func(group, text string) string {
		t.Helper()
		before := len(s.sent())
		s.bring(frame{from: admin, group: group, text: text})
		r.eventually(text, func() bool { return len(s.sent()) > before })
		return s.sent()[before].Text
	}
	ask(home, "!wyłącz !repeat")
	if got := ask(home, "!repeat off"); !strings.Contains(got, "wyłączone") || runs != 0 {
		t.Errorf("it ran %d times and answered %q", runs, got)
	}
	if got := ask(other, "!repeat on"); got != "on" {
		t.Errorf("elsewhere it answered %q", got)
	}
	r.stop()
	r = s.start(t, bot.Options{}, &counted)
	if got := ask(home, "!repeat off"); !strings.Contains(got, "wyłączone") {
		t.Errorf("after a restart it answered %q", got)
	}
	ask(home, "!włącz repeat")
	if got := ask(home, "!repeat on"); got != "on" {
		t.Errorf("switched on it answered %q", got)
	}
	r.stop()
}

// Who is no admin cannot do what admins do, and is told so.
func TestAdminCommandsAreForAdmins(t *testing.T) {
	s := newStage(true)
	r := s.start(t, bot.Options{}, repeat)
	s.bring(frame{from: "ala", group: home, text: "!wyłącz repeat"})
	r.eventually("refused", func() bool { return len(s.sent()) == 1 })
	if got := s.texts()[0]; !strings.Contains(got, "tylko dla uprawnionych") {
		t.Errorf("told %q", got)
	}
	s.bring(frame{from: "ala", group: home, text: "!repeat on"})
	r.eventually("still on", func() bool { return slices.Contains(s.texts(), "on") })
	r.stop()
}

// What follows an answer follows it only when it certainly arrived, for a bot that
// left a group could not say so any more, or when it never can: in a group where only
// admins write.
func TestWhatFollowsAnAnswerWaitsForIt(t *testing.T) {
	for name, tt := range map[string]struct {
		err    error
		leaves bool
	}{
		"sent":     {nil, true},
		"not sent": {errors.New("no route"), false},
		"unknown":  {transport.ErrOutcomeUnknown, false},
		"refused":  {&transport.Error{Class: transport.ClassBug}, false},
		"never":    {&transport.Error{Class: transport.ClassChat}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(true)
			s.refuse(tt.err)
			r := s.start(t, bot.Options{}, repeat)
			s.bring(frame{from: admin, group: other, text: "!opuść"})
			r.eventually("tried", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.tried == 1 })
			s.last(r)
			r.stop()
			if left := s.list(&s.left); slices.Equal(left, []string{other}) != tt.leaves || len(left) > 1 {
				t.Errorf("left %q", left)
			}
		})
	}
}
