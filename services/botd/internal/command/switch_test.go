package command_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/rules"
	"quartet/services/botd/internal/said"
)

func TestCommandsAreSwitchedOffAndOnWhereTheAdminIs(t *testing.T) {
	for _, lang := range []said.Lang{said.Polish, said.English} {
		for _, typed := range []string{"kot", "!KOT", "cat", "kot."} {
			for _, q := range []command.Request{asBoss, toBoss} {
				s := newSwitches()
				r := registry(t, lang, s)
				reply, err := ask(t, r.Find("wylacz"), q, typed)
				says(t, reply, err, lang.SwitchedOff(in(lang, "!kot", "!cat")))
				if !s.Off("kot", q.Chat) || len(s.off) != 1 {
					t.Errorf("%q: off: %v", typed, s.off)
				}
				reply, err = ask(t, r.Find("wlacz"), q, typed)
				says(t, reply, err, lang.SwitchedOn(in(lang, "!kot", "!cat")))
				if len(s.off) != 0 {
					t.Errorf("%q: still off: %v", typed, s.off)
				}
			}
		}
	}
}

func TestPrzerwaSetsThePauseHere(t *testing.T) {
	for _, lang := range []said.Lang{said.Polish, said.English} {
		for typed, want := range map[string]time.Duration{"0": 0, "90": 90 * time.Second, "86400": 24 * time.Hour} {
			s := newSwitches()
			reply, err := ask(t, registry(t, lang, s).Find("przerwa"), asBoss, "!cat "+typed)
			says(t, reply, err, lang.CooldownSet(in(lang, "!kot", "!cat"), want))
			if got, set := s.pause[at{"kot", asBoss.Chat}]; !set || got != want {
				t.Errorf("%s: %v", typed, s.pause)
			}
		}
	}
	for typed, want := range map[string]asked.Reason{"": asked.Missing, "kot -1": asked.OutOfRange, "kot 86401": asked.OutOfRange, "kot długo": asked.NotNumber} {
		_, err := ask(t, registry(t, said.Polish, newSwitches()).Find("przerwa"), asBoss, typed)
		if m, ok := errors.AsType[*asked.Misfit](err); !ok || m.Reason != want {
			t.Errorf("%q: %v", typed, err)
		}
	}
}

func TestPrzerwaWithoutSecondsIsTheUsualOne(t *testing.T) {
	for _, lang := range []said.Lang{said.Polish, said.English} {
		s := newSwitches()
		reply, err := ask(t, registry(t, lang, s).Find("przerwa"), asBoss, "kot")
		says(t, reply, err, lang.CooldownUnset(in(lang, "!kot", "!cat")))
		if got, set := s.pause[at{"kot", asBoss.Chat}]; !set || got >= 0 {
			t.Errorf("%v", s.pause)
		}
	}
}

func TestAdminsLearnThatNoMoreIsKept(t *testing.T) {
	full := fmt.Errorf("decide: %w", rules.ErrTooMany)
	for _, lang := range []said.Lang{said.Polish, said.English} {
		s, d := newSwitches(), &decision{err: full}
		s.err = full
		r := registry(t, lang, s)
		nobody := func(asked.Mention) bool { return false }
		for _, tt := range []struct {
			c     *command.Command
			typed string
		}{
			{r.Find("wylacz"), "kot"}, {r.Find("przerwa"), "kot 5"},
			{command.Dopusc(lang, d.take("allow")), koty}, {command.Ignoruj(lang, nobody, d.take("ignore")), ala},
		} {
			reply, err := ask(t, tt.c, asBoss, tt.typed)
			says(t, reply, err, lang.TooManyKept())
		}
	}
}

// What admins decide is kept by these.
var _ command.Switches = (*rules.Rules)(nil)

func TestWhatAdminsNeedCannotBeChanged(t *testing.T) {
	for _, lang := range []said.Lang{said.Polish, said.English} {
		s := newSwitches()
		ours := nothing("nasze")
		ours.Admins = true
		r := registry(t, lang, s, ours)
		for _, c := range []*command.Command{r.Find("wylacz"), r.Find("wlacz"), r.Find("przerwa")} {
			behind := ""
			if c.Name == "przerwa" {
				behind = " 5"
			}
			for typed, shown := range map[string]string{"pomoc": in(lang, "!pomoc", "!help"), "help": in(lang, "!pomoc", "!help"), "włącz": in(lang, "!włącz", "!on"), "off": in(lang, "!wyłącz", "!off"), "status": "!status", "nasze": "!nasze"} {
				reply, err := ask(t, c, asBoss, typed+behind)
				says(t, reply, err, lang.Fixed(shown))
			}
			for _, typed := range []string{"kott", "!", "_guess"} {
				reply, err := ask(t, c, asBoss, typed+behind)
				says(t, reply, err, lang.NoCommand(typed))
			}
		}
		if len(s.off)+len(s.pause) != 0 {
			t.Errorf("and yet: %v, %v", s.off, s.pause)
		}
	}
}

func TestADecisionThatIsNotKeptIsNotClaimed(t *testing.T) {
	s := newSwitches()
	s.err = errors.New("disk full")
	r := registry(t, said.Polish, s)
	for name, typed := range map[string]string{"wlacz": "kot", "wylacz": "kot", "przerwa": "kot 5"} {
		if reply, err := ask(t, r.Find(name), asBoss, typed); !errors.Is(err, s.err) || reply.Text != "" {
			t.Errorf("%s claims %q, %v", name, reply.Text, err)
		}
	}
}
