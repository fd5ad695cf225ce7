package bot_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
)

// What is heard is shown before the answer is there; what is refused, and what is
// no command, is not.
func TestCommandIsAcknowledged(t *testing.T) {
	for ack, want := range map[string]string{
		bot.AckTyping: fmt.Sprint("typing true in ", transport.Chat{Group: home}),
		"👀":           "👀 on 100 of ala",
		bot.AckNone:   "",
		"":            "",
	} {
		t.Run(ack, func(t *testing.T) {
			s := newStage(true)
			hold := newHolding()
			hold.Limits = cooldown.Limits{User: time.Hour}
			r := s.start(t, bot.Options{Ack: ack}, hold.Command)
			s.bring(frame{from: "ala", group: home, at: 100, text: "!hold"})
			<-hold.began
			if want != "" {
				r.eventually("shown", func() bool { return slices.Equal(s.list(&s.shown), []string{want}) })
			}
			close(hold.let)
			r.eventually("answered", func() bool { return len(s.sent()) == 1 })
			s.bring(
				frame{from: "ala", group: home, text: "!hold"},
				frame{from: "ala", group: home, text: "!what"},
				frame{from: "ala", group: home, text: "hold"},
				frame{from: "ala", group: home, text: "!status"},
			)
			r.eventually("refused", func() bool { return len(s.sent()) == 3 })
			r.stop()
			if n := len(s.list(&s.shown)); n > 1 || n == 1 && want == "" {
				t.Errorf("shown %q", s.list(&s.shown))
			}
		})
	}
}

// No answer waits for that, its time is not the answer's, and a server where it
// hangs or fails costs no answers.
func TestNoAnswerWaitsForItsAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		s.onAside = func(ctx context.Context) error {
			<-ctx.Done()
			return errors.New("hung up")
		}
		s.sendWith(func(context.Context, transport.Outgoing) error { time.Sleep(time.Second); return nil })
		work := &command.Command{Name: "work", Run: func(context.Context, command.Request) (command.Reply, error) {
			time.Sleep(2 * time.Second)
			return command.Reply{Text: "done"}, nil
		}}
		r := s.start(t, bot.Options{Ack: bot.AckTyping, Limit: 1}, work)
		for range 3 {
			s.bring(frame{from: "ala", group: home, text: "!work"})
			time.Sleep(3 * time.Second)
		}
		synctest.Wait()
		state := r.Status(t.Context())
		if len(s.sent()) != 3 || state.Send.P99 != time.Second || state.Own.P99 != 2*time.Second {
			t.Errorf("%d sent, %+v", len(s.sent()), state)
		}
		r.stop()
	})
}

// Signal's server keeps files for ever. When a message was answered they are
// deleted there, if that is wanted.
func TestAttachmentsAreDeletedAfterTheAnswer(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		s := newStage(true)
		hold := newHolding()
		r := s.start(t, bot.Options{DeleteAttachments: wanted}, hold.Command)
		s.bring(frame{from: "ala", group: home, text: "!hold", files: []string{"1.png", "2.png"}},
			frame{from: "ela", group: home, text: "look", files: []string{"3.png"}}) // it is not ours to delete
		<-hold.began
		if got := s.list(&s.deleted); len(got) > 0 {
			t.Errorf("deleted before the answer: %q", got)
		}
		close(hold.let)
		r.eventually("answered", func() bool { return len(s.sent()) == 1 })
		r.stop()
		got := s.list(&s.deleted)
		slices.Sort(got)
		if wanted != slices.Equal(got, []string{"1.png", "2.png"}) || !wanted && len(got) > 0 {
			t.Errorf("wanted: %t, deleted %q", wanted, got)
		}
	}
}

// However many there are, and whatever else the bot does beside its answers.
func TestAllAttachmentsAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		s.onAside = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		r := s.start(t, bot.Options{DeleteAttachments: true, Limit: 1, Ack: bot.AckTyping}, repeat)
		var want []string
		for range 40 {
			f := frame{from: "ala", group: home, text: "!repeat x"}
			for range 30 {
				want = append(want, fmt.Sprintf("%04d.png", len(want)))
				f.files = append(f.files, want[len(want)-1])
			}
			s.bring(f)
		}
		synctest.Wait()
		got := s.list(&s.deleted)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%d of %d deleted", len(got), len(want))
		}
		r.stop()
	})
}

// A server that hangs, or fails, is asked again, a few times; no answer waits for
// that, nor does a stop for longer than it may.
func TestAttachmentsAreDeletedByAServerThatFailsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		tries := map[string]int{} // one file at a time is deleted
		s.onFile = func(ctx context.Context, id string) error {
			tries[id]++
			switch {
			case id == "never.png", id == "later.png" && tries[id] < 3:
				return errors.New("HTTP status 500")
			case id == "slow.png" && tries[id] < 2, id == "hangs.png":
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		r := s.start(t, bot.Options{DeleteAttachments: true, DrainTimeout: 5 * time.Second}, repeat)
		s.bring(
			frame{from: "ala", group: home, text: "!repeat 1", files: []string{"slow.png", "good.png", "never.png", "later.png"}},
			frame{from: "ala", group: home, text: "!repeat 2", files: []string{"after.png"}},
		)
		synctest.Wait()
		if got := s.texts(); len(got) != 2 {
			t.Errorf("answered %q", got)
		}
		time.Sleep(time.Minute)
		if got := s.list(&s.deleted); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"after.png", "good.png", "later.png", "slow.png"}) || tries["never.png"] != 3 || tries["after.png"] != 1 {
			t.Errorf("deleted %q, tried %v", got, tries)
		}
		s.bring(frame{from: "ala", group: home, text: "!repeat 3", files: []string{"hangs.png"}})
		synctest.Wait()
		stopped := time.Now()
		r.stop()
		if took := time.Since(stopped); took > 6*time.Second {
			t.Errorf("the stop took %v", took)
		}
	})
}

// What is dropped is over too.
func TestAttachmentsOfWhatIsDroppedAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		hold := newHolding()
		o := bot.Options{DeleteAttachments: true, Groups: []string{home}, SenderWaiting: 3, CommandTimeout: time.Hour}
		r := s.start(t, o, repeat, hold.Command)
		s.bring(frame{from: "ala", group: home, text: "!hold", files: []string{"answered"}})
		<-hold.began
		minute := time.Minute.Milliseconds()
		s.bring(
			frame{from: "ala", group: home, at: 100, text: "!repeat x", files: []string{"deleted"}},
			frame{from: "ala", group: home, deletes: 100},
			frame{from: "ala", group: home, at: 200, text: "!repeat x", files: []string{"waits"}},
			frame{from: "ala", group: home, at: 300, edits: 200, text: "!repeat x", files: []string{"duplicate"}},
			frame{from: "ala", group: home, text: "!zzzzzzzz x", files: []string{"unknown"}},
			frame{from: "ala", group: home, text: "!repeat x", files: []string{"busy"}},
			frame{from: "ela", group: home, at: 200 + 3*minute, edits: 200, text: "!repeat x", files: []string{"late"}},
			frame{from: "ela", group: other, text: "!repeat x", files: []string{"unknown group"}},
			frame{from: "ela", text: "!repeat x", files: []string{"not direct"}},
			frame{from: "ela", group: home, text: "look", files: []string{"no command"}},
		)
		synctest.Wait()
		check := func(when string, want ...string) {
			t.Helper()
			got := s.list(&s.deleted)
			slices.Sort(got)
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Errorf("%s deleted are %q, want %q", when, got, want)
			}
		}
		atOnce := []string{"duplicate", "busy", "late", "unknown group", "not direct"}
		check("while they wait", atOnce...)
		close(hold.let)
		synctest.Wait()
		check("at the end", append(atOnce, "answered", "deleted", "unknown", "waits")...)
		r.stop()
	})
}

// What a stop leaves, in memory or on disk, is not over, unless its author deleted
// it.
func TestAttachmentsOfWhatAStopLeavesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(false)
		s.sendWith(func(ctx context.Context, _ transport.Outgoing) error {
			<-ctx.Done()
			return transport.ErrOutcomeUnknown
		})
		o := tight
		o.DeleteAttachments, o.DrainTimeout = true, time.Second
		r := s.start(t, o, repeat)
		s.bring(frame{from: "first", group: home, text: "!repeat x"})
		synctest.Wait()
		var want []string
		for n := range 10 {
			want = append(want, fmt.Sprint(n, ".png"))
			s.bring(frame{from: "ala", group: home, at: int64(100 + n), text: "!repeat x", files: want[n:]})
		}
		s.bring(frame{from: "ala", group: home, deletes: 109})
		synctest.Wait()
		if r.Status(t.Context()).Spilled == 0 {
			t.Error("nothing waits on disk")
		}
		r.stop()
		if got := s.list(&s.deleted); len(got) > 0 {
			t.Errorf("deleted %q before the answer", got)
		}
		s.sendWith(nil)
		r = s.start(t, o, repeat)
		time.Sleep(time.Minute)
		got := s.list(&s.deleted)
		if slices.Sort(got); !slices.Equal(got, want) || len(s.texts()) != 9 {
			t.Errorf("deleted %q, %d answered", got, len(s.texts()))
		}
		r.stop()
	})
}

// The figures that admins ask for.
func TestStatusTellsHowTheBotIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(false)
		s.sendWith(func(_ context.Context, o transport.Outgoing) error {
			time.Sleep(3 * time.Second)
			switch o.Text {
			case "unknown":
				return transport.ErrOutcomeUnknown
			case "fails":
				return errors.New("no route")
			}
			return nil
		})
		hold := newHolding()
		o := tight
		o.CommandTimeout = time.Hour
		r := s.start(t, o, repeat, hold.Command)
		for _, text := range []string{"one", "two", "unknown", "fails"} {
			s.bring(frame{from: "ala", group: home, text: "!repeat " + text})
			time.Sleep(3 * time.Second)
		}
		s.bring(frame{from: "ala", group: home, text: "!unheard-of"})
		time.Sleep(48 * time.Second)
		s.bring(frame{from: "ala", group: home, text: "!hold"})
		<-hold.began
		for n := range 10 {
			s.bring(frame{from: fmt.Sprint("p", n), group: home, text: "!repeat x"})
		}
		time.Sleep(time.Minute)
		got := r.Status(t.Context())
		if got.Answered != 2 || got.Failed != 2 || got.Unknown != 1 || got.Dropped != 1 || got.NotReady != "" {
			t.Errorf("%+v", got)
		}
		if got.Up != 2*time.Minute || got.Send.P50 != 3*time.Second || got.Send.Sum != 12*time.Second || got.Own.P99 > time.Second {
			t.Errorf("times are %+v", got)
		}
		// One has left the backlog for its slot and waits there, in nobody's count.
		if all := got.Waiting + got.Spilled; got.Spilled < 6 || all < 8 || all > 10 || got.WaitingBytes < 1<<10 || got.WaitingBytes > o.BacklogBytes {
			t.Errorf("%d wait in memory with %d bytes, %d on disk", got.Waiting, got.WaitingBytes, got.Spilled)
		}
		if text := said.Polish.State(got); !strings.Contains(text, ", 100%") {
			t.Errorf("told as:\n%s", text)
		}
		close(hold.let)
		r.stop()
	})
}
