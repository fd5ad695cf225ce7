package bot_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"

	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
	"quartet/kit/timing"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/transport"
)

// daemon is a signal-cli that brings the frames it is given, and after a stop
// those of them that are under way.
type daemon struct {
	pressesBack bool
	frames      chan string
	onSend      func(ctx context.Context) error // nil sends
	onStop      func()                          // comes before what is under way

	mu      sync.Mutex
	sent    []string // guarded by mu, as all below
	chats   []transport.Chat
	left    []string
	deleted []string
	shown   []string // reactions and typing
}

func (d *daemon) Traits() transport.Traits {
	return transport.Traits{PressesBack: d.pressesBack}
}

func (d *daemon) Receive(ctx context.Context, to transport.Receiver) error {
	to.Open()
	link := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		select {
		case f := <-d.frames:
			to.Frame(link, []byte(f))
		case <-ctx.Done():
		}
	}
	if d.onStop != nil {
		d.onStop()
	}
	for len(d.frames) > 0 {
		to.Frame(link, []byte(<-d.frames))
	}
	return ctx.Err()
}

func (d *daemon) Send(ctx context.Context, o transport.Outgoing) (transport.Receipt, error) {
	if d.onSend != nil {
		if err := d.onSend(ctx); err != nil {
			return transport.Receipt{}, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent, d.chats = append(d.sent, o.Text), append(d.chats, o.Chat)
	return transport.Receipt{Timestamp: 1}, nil
}

func (d *daemon) React(_ context.Context, r transport.Reaction) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown = append(d.shown, fmt.Sprint(r.Emoji, " ", r.Timestamp))
	return nil
}

func (d *daemon) Typing(context.Context, transport.Chat, bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown = append(d.shown, "typing")
	return nil
}

func (d *daemon) Leave(_ context.Context, group string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = append(d.left, group)
	return nil
}

func (d *daemon) Trust(context.Context, string) error { return nil }

func (d *daemon) SetProfile(context.Context, transport.Profile) error { return nil }

func (d *daemon) DeleteAttachment(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deleted = append(d.deleted, id)
	return nil
}

func (d *daemon) Check(context.Context) ([]transport.Warning, error) { return nil, nil }

func (d *daemon) texts() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.sent)
}

func newDaemon() *daemon { return &daemon{pressesBack: true, frames: make(chan string, 1000)} }

// repeat answers with what it is given.
var repeat = &command.Command{Name: "repeat", Params: []asked.Param{{Name: "what", Kind: asked.Rest}}, Run: func(_ context.Context, r command.Request) (command.Reply, error) {
	return command.Reply{Text: r.Args["what"].Text}, nil
}}

func question(n int) string {
	return fmt.Sprintf(`{"account":%q,"envelope":{"sourceUuid":"ala","timestamp":%d,"dataMessage":{"message":"!repeat %d"}}}`, number, n, n)
}

// spillBytes is what may wait on the tests' disks.
const spillBytes = 64 << 20

// startKept starts a bot whose ledger is on a disk.
func startKept(t *testing.T, fs disk.FS, d *daemon, o bot.Options, commands ...*command.Command) *rig {
	t.Helper()
	kept, end := bot.Remember(t, fs, "state", spillBytes)
	r := &rig{t: t, reader: metric.NewManualReader()}
	r.run(kept, slog.NewTextHandler(t.Output(), nil), o, func(*timing.Instruments) transport.Transport { return d }, append(commands, repeat)...)
	stop := r.stop
	r.stop = sync.OnceFunc(func() {
		stop()
		end()
	})
	t.Cleanup(r.stop)
	return r
}

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
	d.onSend = func(context.Context) error { return transport.ErrOutcomeUnknown }
	d.frames <- question(1)
	r := startKept(t, fs, d, bot.Options{})
	r.eventually("tried", func() bool { return r.outcomes("upstream_error") == 1 })
	r.stop()
	d.onSend = nil
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
	d.onSend = func(ctx context.Context) error {
		begun <- struct{}{}
		<-ctx.Done()
		return fmt.Errorf("%w: %w", transport.ErrOutcomeUnknown, ctx.Err())
	}
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
	d.onSend = nil
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
	d.onSend = func(context.Context) error { <-stopped; return nil }
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
	d.onSend, d.onStop = nil, nil
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
