package bot_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
	"quartet/services/botd/internal/upstream"
)

// words are any words, or none.
var words = []asked.Param{{Name: "words", Kind: asked.Rest, Optional: true}}

// echo answers with what stood behind it.
func echo() *command.Command {
	return &command.Command{Name: "echo", Params: words, Run: func(_ context.Context, r command.Request) (command.Reply, error) {
		return command.Reply{Text: r.Name + ":" + r.Args["words"].Text}, nil
	}}
}

// gated answers when the test lets it.
type gated struct {
	*command.Command
	running atomic.Int32
	let     chan struct{}
}

func newGated(name string) *gated {
	g := &gated{let: make(chan struct{})}
	g.Command = &command.Command{Name: name, Params: words, Run: func(ctx context.Context, r command.Request) (command.Reply, error) {
		g.running.Add(1)
		defer g.running.Add(-1)
		select {
		case <-g.let:
			return command.Reply{Text: r.Name + ":" + r.Args["words"].Text}, nil
		case <-ctx.Done():
			return command.Reply{}, ctx.Err()
		}
	}}
	return g
}

func TestCommandIsAnsweredWhereItWasAsked(t *testing.T) {
	r := newRig(t, bot.Options{}, echo())
	r.say("ala", "!echo miau")
	got := r.next()
	if got.Message != "ALA:miau" || !slices.Equal(got.Recipients, []string{envelope.PublicGroupID(groupID)}) {
		t.Errorf("sent %+v", got)
	}
	r.frames <- `{"account":"+15550100000","envelope":{"sourceUuid":"11111111-1111-4111-8111-111111111111","sourceNumber":null,"dataMessage":{"message":"!echo x"}}}`
	if got := r.next(); !slices.Equal(got.Recipients, []string{"11111111-1111-4111-8111-111111111111"}) {
		t.Errorf("a direct question was answered to %v", got.Recipients)
	}
}

func TestPictureIsSentWithItsType(t *testing.T) {
	kot := command.Kot(said.Polish, func(context.Context) (upstream.Picture, error) {
		return upstream.Picture{ContentType: "image/png", Data: []byte("PNG")}, nil
	})
	r := newRig(t, bot.Options{}, kot)
	r.say("ala", "!kot")
	if got := r.next(); !slices.Equal(got.Pictures, []string{"data:image/png;filename=kot.png;base64,UE5H"}) {
		t.Errorf("sent %+v", got)
	}
}

func TestWhatIsNotForTheBotIsLeftAlone(t *testing.T) {
	r := newRig(t, bot.Options{}, echo())
	r.say("ala", "kto ma kota?")
	r.say("ala", "!!!")
	r.say("ala", "!unknown")
	for _, raw := range []string{
		"", "{", "[]", `{"envelope":null}`,
		`{"account":"+15550100000","exception":{"type":"X"}}`,
		`{"account":"+15550199999","envelope":{"sourceUuid":"u","dataMessage":{"message":"!echo foreign"}}}`,
		`{"account":"+15550100000","envelope":{"dataMessage":{"message":"!echo nobody"}}}`,
		`{"account":"+15550100000","envelope":{"sourceUuid":"u","sourceNumber":"+15550100000","dataMessage":{"message":"!echo own"}}}`,
		`{"account":"+15550100000","envelope":{"sourceUuid":"self","syncMessage":{"sentMessage":{"message":"!echo sync"}}}}`,
	} {
		r.frames <- raw
	}
	r.say("ala", "!echo last")
	if got := r.next(); got.Message != "ALA:last" {
		t.Errorf("answered %q", got.Message)
	}
	for reason, want := range map[string]int64{"malformed": 4, "foreign_account": 1, "no_sender": 1, "own": 1, "unknown_command": 1} {
		if got := r.dropped(reason); got != want {
			t.Errorf("%d dropped as %s, want %d", got, reason, want)
		}
	}
}

func TestOnePersonsCommandsRunInOrder(t *testing.T) {
	const people, each = 20, 10
	r := newRig(t, bot.Options{Limit: 4}, echo())
	for n := range each {
		for p := range people {
			r.say(fmt.Sprint("p", p), fmt.Sprint("!echo ", n))
		}
	}
	next := map[string]int{}
	for range people * each {
		name, n, _ := strings.Cut(r.next().Message, ":")
		if n != fmt.Sprint(next[name]) {
			t.Fatalf("%s got answer %s, want %d first", name, n, next[name])
		}
		next[name]++
	}
}

func TestNobodyWaitsForSomebodyElsesCommand(t *testing.T) {
	slow := newGated("slow")
	r := newRig(t, bot.Options{Limit: 2}, slow.Command, echo())
	r.say("ala", "!slow")
	r.say("ala", "!echo behind")
	r.say("ela", "!echo beside")
	if got := r.next(); got.Message != "ELA:beside" {
		t.Fatalf("first came %q", got.Message)
	}
	close(slow.let)
	if got := r.next(); got.Message != "ALA:" {
		t.Errorf("then came %q", got.Message)
	}
	if got := r.next(); got.Message != "ALA:behind" {
		t.Errorf("last came %q", got.Message)
	}
}

// One person's waiting commands hold no slot: two who flood leave room.
func TestAFloodHoldsOneSlot(t *testing.T) {
	slow := newGated("slow")
	r := newRig(t, bot.Options{Limit: 3}, slow.Command, echo())
	for range 10 {
		r.say("ala", "!slow")
		r.say("ela", "!slow")
	}
	r.eventually("each flood has a slot", func() bool { return slow.running.Load() >= 2 })
	for _, word := range []string{"free", "still"} {
		r.say("ola", "!echo "+word)
		if got := r.next(); got.Message != "OLA:"+word {
			t.Errorf("first came %q", got.Message)
		}
	}
	if n := slow.running.Load(); n != 2 {
		t.Errorf("%d of the floods run, want one each", n)
	}
	close(slow.let)
}

func TestNeverMoreThanLimitAtOnce(t *testing.T) {
	var now, most atomic.Int32
	busy := &command.Command{Name: "busy", Run: func(context.Context, command.Request) (command.Reply, error) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		runtime.Gosched()
		now.Add(-1)
		return command.Reply{Text: "done"}, nil
	}}
	r := newRig(t, bot.Options{Limit: 3}, busy)
	for p := range 200 {
		r.say(fmt.Sprint("p", p), "!busy")
	}
	for range 200 {
		r.next()
	}
	if most.Load() > 3 {
		t.Errorf("%d ran at once", most.Load())
	}
}

// The slot is taken before the goroutine is started, so a burst waits as
// messages and not as goroutines.
func TestABurstStartsNoGoroutines(t *testing.T) {
	slow := newGated("slow")
	r := newRig(t, bot.Options{Limit: 1}, slow.Command)
	r.say("first", "!slow")
	r.eventually("the first runs", func() bool { return slow.running.Load() == 1 })
	before := runtime.NumGoroutine()
	for p := range 500 {
		r.say(fmt.Sprint("p", p), "!slow")
	}
	r.eventually("all have been read", func() bool { return r.count("quartet.botd.frames", "kind", "text") == 501 })
	if after := runtime.NumGoroutine(); after > before+20 {
		t.Errorf("%d goroutines before the burst, %d with 500 waiting", before, after)
	}
	close(slow.let)
	for range 501 {
		r.next()
	}
}

// The reader reads on whatever happens behind it; what has no room is counted.
func TestFullBacklogDropsAndReadsOn(t *testing.T) {
	slow := newGated("slow")
	r := newRig(t, bot.Options{Limit: 1, BacklogBytes: 10 << 10}, slow.Command)
	r.say("first", "!slow")
	r.eventually("the first runs", func() bool { return slow.running.Load() == 1 })
	const burst = 100
	for p := range burst {
		r.say(fmt.Sprint("p", p), "!slow")
	}
	r.eventually("all have been read", func() bool { return r.count("quartet.botd.frames", "kind", "text") == burst+1 })
	dropped := r.dropped("backlog_full")
	if dropped == 0 || dropped >= burst {
		t.Errorf("%d of %d dropped", dropped, burst)
	}
	close(slow.let)
	for range burst + 1 - dropped {
		r.next()
	}
	r.eventually("all are served", func() bool { return r.outcomes("ok") == burst+1-dropped })
}

// fullPipe is a log of every level that nobody reads any more.
type fullPipe struct {
	slog.Handler
	full atomic.Bool
	read chan struct{}
}

func (f *fullPipe) Enabled(context.Context, slog.Level) bool { return true }

func (f *fullPipe) Handle(context.Context, slog.Record) error {
	if f.full.Load() {
		<-f.read
	}
	return nil
}

// The reader writes nothing that could block it, whatever comes.
func TestReaderDoesNotWaitForTheLog(t *testing.T) {
	log := &fullPipe{Handler: slog.DiscardHandler, read: make(chan struct{})}
	r := newRigLogging(t, log, bot.Options{}, echo())
	log.full.Store(true)
	defer close(log.read)
	r.frames <- "no frame"
	r.frames <- strings.Repeat("x", transport.MaxFrame+1)
	r.frames <- `{"account":"+15550199999","envelope":{"sourceUuid":"u","dataMessage":{"message":"!echo foreign"}}}`
	r.say("ala", "!echo heard")
	if got := r.next(); got.Message != "ALA:heard" {
		t.Errorf("answered %q", got.Message)
	}
	if r.dropped("malformed") != 1 || r.dropped("too_long") != 1 || r.dropped("foreign_account") != 1 {
		t.Error("not all was counted")
	}
}

func TestOnePersonCannotFillTheBacklog(t *testing.T) {
	slow := newGated("slow")
	r := newRig(t, bot.Options{Limit: 1, SenderWaiting: 3}, slow.Command)
	for range 10 {
		r.say("ala", "!slow")
	}
	r.eventually("all have been read", func() bool { return r.count("quartet.botd.frames", "kind", "text") == 10 })
	if got := r.dropped("sender_busy"); got != 6 {
		t.Errorf("%d dropped, want 6: one runs, three wait", got)
	}
	close(slow.let)
	for range 4 {
		r.next()
	}
}
