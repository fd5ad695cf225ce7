package bot_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/transport"
)

// repeat answers with what it is given.
var repeat = &command.Command{Name: "repeat", Params: []asked.Param{{Name: "what", Kind: asked.Rest}}, Run: func(_ context.Context, r command.Request) (command.Reply, error) {
	return command.Reply{Text: r.Args["what"].Text}, nil
}}

func question(n int) string {
	return fmt.Sprintf(`{"account":%q,"envelope":{"sourceUuid":"ala","timestamp":%d,"dataMessage":{"message":"!repeat %d"}}}`, number, n, n)
}

// spillBytes is what may wait on the tests' disks.
const spillBytes = 64 << 20

func (r *rig) answered(d *daemon, want ...string) {
	r.t.Helper()
	r.eventually(fmt.Sprint("the answers ", want), func() bool { return len(d.texts()) >= len(want) })
	if got := d.texts(); !slices.Equal(got, want) {
		r.t.Errorf("answered %q, want %q", got, want)
	}
}

func TestWhatComesAgainAfterARestartIsADuplicate(t *testing.T) {
	fs, d := powerloss.New(), newDaemon()
	d.frames <- question(1)
	r := startKept(t, fs, d, bot.Options{})
	r.answered(d, "1")
	r.stop()
	d.frames <- question(1)
	d.frames <- question(2)
	r = startKept(t, fs, d, bot.Options{})
	r.answered(d, "1", "2")
	if n := r.dropped("duplicate"); n != 1 {
		t.Errorf("%d duplicates", n)
	}
}

// An answer that may have arrived is not given again.
func TestUnknownAnswerIsNotRepeated(t *testing.T) {
	fs, d := powerloss.New(), newDaemon()
	d.refuse(transport.ErrOutcomeUnknown)
	d.frames <- question(1)
	r := startKept(t, fs, d, bot.Options{})
	r.eventually("tried", func() bool { return r.outcomes("upstream_error") == 1 })
	r.stop()
	d.sendWith(nil)
	d.frames <- question(1)
	d.frames <- question(2)
	r = startKept(t, fs, d, bot.Options{})
	r.answered(d, "2")
}

// A stop that comes while one is being sent, some wait, one wants room and the
// rest is under way loses none but what is being sent.
func TestStopLeavesEverythingForTheNextStart(t *testing.T) {
	fs, d := powerloss.New(), newDaemon()
	begun := make(chan struct{}, 1)
	d.sendWith(func(ctx context.Context, _ transport.Outgoing) error {
		begun <- struct{}{}
		<-ctx.Done()
		return fmt.Errorf("%w: %w", transport.ErrOutcomeUnknown, ctx.Err())
	})
	var want []string
	for n := range 50 {
		d.frames <- question(n)
		if n > 0 {
			want = append(want, fmt.Sprint(n))
		}
	}
	r := startKept(t, fs, d, bot.Options{BacklogBytes: 2500, Limit: 1, DrainTimeout: 50 * time.Millisecond})
	<-begun
	r.eventually("the reader waits for room", func() bool { return len(d.frames) == 46 })
	r.stop()
	if len(d.texts()) > 0 {
		t.Fatalf("answered %q", d.texts())
	}
	d.sendWith(nil)
	r = startKept(t, fs, d, bot.Options{SenderWaiting: 100})
	r.answered(d, want...)
	if n := r.dropped("sender_busy") + r.dropped("duplicate"); n > 0 {
		t.Errorf("%d dropped", n)
	}
}

// What comes when there is room again does not overtake what found none.
func TestNothingOvertakesWhatAStopLeft(t *testing.T) {
	fs, d := powerloss.New(), newDaemon()
	stopped := make(chan struct{})
	d.sendWith(func(context.Context, transport.Outgoing) error { <-stopped; return nil })
	d.onStop = func() {
		close(stopped)
		for began := time.Now(); len(d.texts()) < 3 && time.Since(began) < patience; time.Sleep(time.Millisecond) {
		}
	}
	var want []string
	for n := range 10 {
		d.frames <- question(n)
		want = append(want, fmt.Sprint(n))
	}
	r := startKept(t, fs, d, bot.Options{BacklogBytes: 2500, Limit: 1})
	r.eventually("the reader waits for room", func() bool { return len(d.frames) == 6 })
	r.stop()
	d.sendWith(nil)
	d.onStop = nil
	r = startKept(t, fs, d, bot.Options{})
	r.answered(d, want...)
}

func TestStaleIsNotAnswered(t *testing.T) {
	fs, d := powerloss.New(), newDaemon()
	kept, end := bot.Remember(t, fs, "state", 0)
	for n, age := range []time.Duration{time.Hour, time.Minute} {
		m := &envelope.Message{Sender: "ala", Timestamp: int64(n + 1), Text: fmt.Sprint("!repeat ", n+1)}
		if _, err := kept.Ledger.Accept(m, time.Now().Add(-age), false); err != nil {
			t.Fatal(err)
		}
	}
	end()
	r := startKept(t, fs, d, bot.Options{})
	r.answered(d, "2")
	if n := r.dropped("stale"); n != 1 {
		t.Errorf("%d stale", n)
	}
}

// What was asked of another account is not answered from this one, wherever it
// waited.
func TestWhatAnotherAccountWasAskedIsNotAnswered(t *testing.T) {
	for _, spilled := range []bool{false, true} {
		fs, d := powerloss.New(), newDaemon()
		kept, end := bot.Remember(t, fs, "state", spillBytes)
		for n, account := range []string{"+15559990000", number, "+15559990000", number} {
			m := &envelope.Message{Kind: envelope.KindText, Account: account, Sender: "ala", Timestamp: int64(n + 1), Text: fmt.Sprint("!repeat ", n+1)}
			if spilled {
				if err := kept.Spill.Push(m, time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := kept.Ledger.Accept(m, time.Now(), spilled); err != nil {
				t.Fatal(err)
			}
		}
		end()
		r := startKept(t, fs, d, bot.Options{})
		r.answered(d, "2", "4")
		if n := r.dropped("foreign_account"); n != 2 {
			t.Errorf("spilled: %t, %d dropped", spilled, n)
		}
		r.stop()
	}
}

// While nothing can be written, what presses back is not read and loses
// nothing; elsewhere frames are dropped and counted. The bot is not ready, and
// is again without a message that shows it.
func TestFullDiskLosesNothingThatCanWait(t *testing.T) {
	for _, pressesBack := range []bool{true, false} {
		t.Run(fmt.Sprint("presses back ", pressesBack), func(t *testing.T) {
			fs, d := powerloss.New(), newDaemon()
			d.pressesBack = pressesBack
			r := startKept(t, fs, d, bot.Options{})
			r.eventually("ready", func() bool { return r.Ready(t.Context()) == nil })
			fs.SetCapacity(1)
			d.frames <- question(1)
			d.frames <- question(2)
			r.eventually("not ready", func() bool { return errors.Is(r.Ready(t.Context()), syscall.ENOSPC) })
			if !pressesBack {
				r.eventually("dropped", func() bool { return r.dropped("not_kept") == 2 })
			}
			fs.SetCapacity(1 << 30)
			r.eventually("ready again", func() bool { return r.Ready(t.Context()) == nil })
			if pressesBack {
				r.answered(d, "1", "2")
			} else if len(d.texts()) > 0 {
				t.Errorf("answered %q", d.texts())
			}
		})
	}
}

// What was taken before the disk was full waits for room before it is answered, for
// as long as anybody waits for that, over a stop too. It is answered once, is one use,
// and may still be taken back.
func TestFullDiskLosesNothingThatWasTaken(t *testing.T) {
	all := []string{"held 0", "held 1", "held 2", "held 3", "held 4", "held 5"}
	for name, tt := range map[string]struct {
		meanwhile func(*stage)
		stop      bool
		want      []string
	}{
		"room again":     {want: all},
		"a stop":         {stop: true, want: all},
		"one taken back": {meanwhile: func(s *stage) { s.bring(frame{from: "p0", deletes: 1}) }, want: all[1:]},
		"too late":       {meanwhile: func(*stage) { time.Sleep(10 * time.Minute) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(true)
				hold := newHolding()
				hold.Limits.User = time.Hour
				r := s.start(t, bot.Options{Limit: 4, DrainTimeout: time.Second}, hold.Command)
				for n := range all {
					s.bring(frame{from: fmt.Sprint("p", n), text: fmt.Sprint("!hold ", n), at: int64(n + 1)})
				}
				synctest.Wait()
				s.fs.SetCapacity(1)
				close(hold.let)
				time.Sleep(3500 * time.Millisecond) // between two tries
				if err := r.Ready(t.Context()); !errors.Is(err, syscall.ENOSPC) || len(s.sent()) > 0 {
					t.Errorf("ready: %v, sent %q", err, s.texts())
				}
				if tt.meanwhile != nil {
					tt.meanwhile(s)
					synctest.Wait()
				}
				if tt.stop {
					r.stop()
					r = s.start(t, bot.Options{}, hold.Command)
				}
				s.fs.SetCapacity(1 << 30)
				time.Sleep(time.Minute)
				if err := r.Ready(t.Context()); err != nil {
					t.Errorf("ready: %v", err)
				}
				r.stop()
				r = s.start(t, bot.Options{}, hold.Command)
				time.Sleep(time.Minute)
				got := s.texts()
				slices.Sort(got)
				if !slices.Equal(got, tt.want) {
					t.Fatalf("answered %q, want %q", got, tt.want)
				}
				if tt.want != nil {
					s.bring(frame{from: "p1", text: "!ja"})
					synctest.Wait()
					if got := s.texts()[len(tt.want):]; len(got) != 1 || !strings.Contains(got[0], " 2 polecenia") {
						t.Errorf("told %q of one use and this one", got)
					}
				}
				r.stop()
			})
		})
	}
}

// What a stop interrupts is left to the next start, also when its author is not told
// that it did not work, because they heard that of another just before.
func TestStopLeavesWhatItInterruptsInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		run := func(context.Context) error { return errors.New("HTTP status 503") }
		c := &command.Command{Name: "slow", Run: func(ctx context.Context, _ command.Request) (command.Reply, error) {
			return command.Reply{Text: "done"}, run(ctx)
		}}
		r := s.start(t, bot.Options{DrainTimeout: time.Second}, c)
		s.bring(frame{from: "ala", group: home, text: "!slow"}, frame{from: "ala", group: home, text: "!slow"})
		synctest.Wait() // of one she is told, of one she is not
		run = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		s.bring(frame{from: "ala", group: home, text: "!slow"})
		synctest.Wait()
		r.stop()
		run = func(context.Context) error { return nil }
		r = s.start(t, bot.Options{}, c)
		synctest.Wait()
		r.stop()
		if got := s.texts(); len(got) != 2 || got[1] != "done" {
			t.Errorf("answered %q", got)
		}
	})
}

// What waits takes no more of the store than of the backlog, whatever signs it
// is made of: by that a full backlog leaves room there. Nor does it in the spill.
func TestBacklogCountsWhatTheStoreNeeds(t *testing.T) {
	fs := powerloss.New()
	kept, end := bot.Remember(t, fs, "state", spillBytes)
	defer end()
	for n, sign := range []string{"a", "ż", "<", "&", `"`, `\`, "\n", "\x01", "\x7f", "\u2028", "\ufffd", "\xff", "😺"} {
		text := strings.Repeat(sign, 8<<10)
		m := &envelope.Message{Kind: envelope.KindText, Account: number, Sender: "ala", Name: text, Timestamp: int64(n + 1), GroupID: home, GroupName: text, Text: text}
		store, spill := kept.Store.Stats().Bytes, kept.Spill.Stats().Bytes
		_, err := kept.Ledger.Accept(m, time.Now(), false)
		if err = errors.Join(err, kept.Spill.Push(m, time.Now())); err != nil {
			t.Fatal(err)
		}
		store, spill = kept.Store.Stats().Bytes-store, kept.Spill.Stats().Bytes-spill
		if most := bot.Cost(m); store > most || spill > most {
			t.Errorf("%q: %d bytes in the store, %d in the spill, %d in the backlog", sign, store, spill, most)
		}
	}
}
