package bot_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/cooldown"
)

// counting is a command's Run that counts.
func counting(n *int, c *command.Command) func(context.Context, command.Request) (command.Reply, error) {
	return func(ctx context.Context, r command.Request) (command.Reply, error) {
		*n++
		return c.Run(ctx, r)
	}
}

// holding is a command that runs until the test lets it.
type holding struct {
	*command.Command
	began chan struct{} // one for each that runs
	let   waits
}

func newHolding() *holding {
	h := &holding{began: make(chan struct{}, 1000), let: make(waits)}
	h.Command = &command.Command{Name: "hold", Params: []asked.Param{{Name: "what", Kind: asked.Rest, Optional: true}},
		Run: func(ctx context.Context, r command.Request) (command.Reply, error) {
			h.began <- struct{}{}
			return command.Reply{Text: "held " + r.Args["what"].Text}, h.let.pass(ctx)
		}}
	return h
}

// An edit is answered if the message was no command, or none that is known.
func TestEditIntoACommandIsAnsweredOnce(t *testing.T) {
	s := newStage(true)
	r := s.start(t, bot.Options{}, repeat)
	s.bring(
		frame{from: "ala", group: home, at: 100, text: "repeat a"},
		frame{from: "ala", group: home, at: 200, edits: 100, text: "!repeat a"},
		frame{from: "ala", group: home, at: 200, edits: 100, text: "!repeat a"},  // the same frame again
		frame{from: "ala", group: home, at: 300, edits: 100, text: "!repeat aa"}, // a second edit
		frame{from: "ela", group: home, at: 300, edits: 100, text: "!repeat b"},  // somebody else's of the same moment
	)
	s.last(r)
	r.stop()
	got := s.texts()
	slices.Sort(got)
	if !slices.Equal(got, []string{"a", "b", "last"}) || r.dropped("duplicate") != 2 {
		t.Errorf("answered %q, %d duplicates", got, r.dropped("duplicate"))
	}
}

func TestEditOfAnUnknownCommandIsAnsweredOnce(t *testing.T) {
	for _, restart := range []bool{false, true} {
		s := newStage(true)
		r := s.start(t, bot.Options{}, repeat)
		s.bring(
			frame{from: "ala", group: home, at: 100, text: "!zzzzzzzz a"},
			frame{from: "ala", group: home, at: 101, text: "!repeat behind it"},
		)
		r.answered(s.daemon, "behind it")
		if restart {
			r.stop()
			r = s.start(t, bot.Options{}, repeat)
		}
		s.bring(
			frame{from: "ala", group: home, at: 200, edits: 100, text: "!repeat a"},
			frame{from: "ala", group: home, at: 200, edits: 100, text: "!repeat a"},
			frame{from: "ala", group: home, at: 300, edits: 100, text: "!repeat b"},
			frame{from: "ala", group: home, at: 100, text: "!repeat c"},
		)
		r.eventually("the rest is read", func() bool { return r.dropped("duplicate") == 3 })
		r.eventually("answered", func() bool { return slices.Contains(s.texts(), "a") })
		r.stop()
		if got := s.texts(); !slices.Equal(got, []string{"behind it", "a"}) {
			t.Errorf("restarted: %t, answered %q", restart, got)
		}
	}
}

func TestEditOfACommandIsNotAnsweredAgain(t *testing.T) {
	s := newStage(true)
	r := s.start(t, bot.Options{}, repeat)
	s.bring(frame{from: "ala", group: home, at: 100, text: "!repeat a"})
	r.answered(s.daemon, "a")
	r.stop()
	r = s.start(t, bot.Options{}, repeat)
	s.bring(frame{from: "ala", group: home, at: 200, edits: 100, text: "!repeat b", device: 2})
	s.last(r)
	r.stop()
	if got := s.texts(); !slices.Equal(got, []string{"a", "last"}) {
		t.Errorf("answered %q", got)
	}
}

func TestLateEditIsDropped(t *testing.T) {
	s := newStage(true)
	r := s.start(t, bot.Options{}, repeat)
	second := time.Second.Milliseconds()
	s.bring(
		frame{from: "ala", group: home, at: 100 + 121*second, edits: 100, text: "!repeat late"},
		frame{from: "ela", group: home, at: 100 + 119*second, edits: 100, text: "!repeat fresh"},
	)
	s.last(r)
	r.stop()
	if got := s.texts(); slices.Contains(got, "late") || !slices.Contains(got, "fresh") || r.dropped("late_edit") != 1 {
		t.Errorf("answered %q, %d dropped", got, r.dropped("late_edit"))
	}
}

// What its author takes back before it is answered is not answered. Others
// cannot take it back.
func TestDeletedWaitingCommandIsCancelled(t *testing.T) {
	s := newStage(true)
	hold := newHolding()
	r := s.start(t, bot.Options{}, repeat, hold.Command)
	s.bring(frame{from: "ala", group: home, text: "!hold"})
	<-hold.began
	s.bring(
		frame{from: "ala", group: home, at: 100, text: "!repeat deleted"},
		frame{from: "ala", group: home, at: 200, text: "!repeat kept"},
		frame{from: "ela", group: home, deletes: 200},
		frame{from: "ala", group: home, deletes: 100},
	)
	s.last(r)
	close(hold.let)
	r.eventually("the rest", func() bool { return slices.Contains(s.texts(), "kept") })
	r.stop()
	if got := s.texts(); slices.Contains(got, "deleted") || r.dropped("deleted") != 1 {
		t.Errorf("answered %q, %d dropped", got, r.dropped("deleted"))
	}
	r = s.start(t, bot.Options{}, repeat) // and a restart does not remember it
	s.last(r)
	r.stop()
	if slices.Contains(s.texts(), "deleted") {
		t.Error("answered after a restart")
	}
}

// One that is taken back while it runs is not answered either, and was no use.
func TestCommandDeletedWhileItRunsIsCancelled(t *testing.T) {
	s := newStage(true)
	hold := newHolding()
	hold.Limits = cooldown.Limits{User: time.Hour}
	r := s.start(t, bot.Options{}, repeat, hold.Command)
	s.bring(frame{from: "ala", group: home, at: 100, text: "!hold deleted"})
	<-hold.began
	s.bring(frame{from: "ala", group: home, deletes: 100})
	s.last(r)
	close(hold.let)
	s.bring(frame{from: "ala", group: home, text: "!hold again"})
	r.answered(s.daemon, "last", "held again")
	r.stop()
	if n := r.dropped("deleted"); n != 1 {
		t.Errorf("%d dropped", n)
	}
}

// By the server's time, which a frame tells, nobody waits for it any more: our
// account was away.
func TestCommandThatWaitedAtSignalForTooLongIsStale(t *testing.T) {
	s := newStage(true)
	r := s.start(t, bot.Options{MaxAge: 10 * time.Minute}, repeat)
	ago := func(d time.Duration) int64 { return time.Now().Add(-d).UnixMilli() }
	s.bring(
		frame{from: "ala", group: home, server: ago(11 * time.Minute), text: "!repeat old"},
		frame{from: "ala", group: home, server: ago(9 * time.Minute), text: "!repeat young"},
		frame{from: "ala", group: home, server: ago(-time.Hour), text: "!repeat ahead"}, // our clock is behind
	)
	s.last(r)
	r.stop()
	if got := strings.Join(s.texts(), " "); strings.Contains(got, "old") || !strings.Contains(got, "young") || !strings.Contains(got, "ahead") || r.dropped("stale") != 1 {
		t.Errorf("answered %q, %d stale", got, r.dropped("stale"))
	}
}
