package bot_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
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
