package bot_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/cooldown"
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
	r.say("ola", "!echo free")
	if got := r.next(); got.Message != "OLA:free" {
		t.Errorf("first came %q", got.Message)
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
	var calls atomic.Int32
	flaky := &command.Command{Name: "kot", Limits: cooldown.Limits{User: time.Hour}, Run: func(context.Context, command.Request) (command.Reply, error) {
		if calls.Add(1) == 1 {
			return command.Reply{}, errors.New("HTTP status 503")
		}
		return command.Reply{Text: "kot"}, nil
	}}
	r := newRig(t, bot.Options{}, flaky)
	r.say("ala", "!kot")
	if got := r.next(); !strings.Contains(got.Message, "Nie udało się") || strings.Contains(got.Message, "503") {
		t.Errorf("told %q", got.Message)
	}
	r.say("ala", "!kot")
	if got := r.next(); got.Message != "kot" {
		t.Errorf("the failed use counted: %q", got.Message)
	}
	r.eventually("counted by outcome", func() bool { return r.outcomes("upstream_error") == 1 && r.outcomes("ok") == 1 })
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
			r := newRig(t, bot.Options{SendTimeout: 200 * time.Millisecond}, kot)
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

// A near name is asked back about, once in a cooldown; another one is nobody's.
func TestMistypedCommandIsAskedBack(t *testing.T) {
	near := echo()
	near.Limits.User = time.Hour
	r := newRig(t, bot.Options{}, near)
	r.say("ala", "!ecoh")
	if got := r.next(); !strings.Contains(got.Message, "!echo?") {
		t.Errorf("asked %q", got.Message)
	}
	r.say("ala", "!ehco")
	if got := r.next(); !strings.Contains(got.Message, "Chwila przerwy") {
		t.Errorf("asked %q", got.Message)
	}
	r.say("ala", "!echo itself")
	if got := r.next(); got.Message != "ALA:itself" {
		t.Errorf("the guess used up the command's own cooldown: %q", got.Message)
	}
	if n := r.count("quartet.request.duration", "operation", "_guess"); n != 2 {
		t.Errorf("%d guesses counted", n)
	}
}

func TestArgumentsThatDoNotFitAreExplained(t *testing.T) {
	count := &command.Command{
		Name:   "licz",
		Params: []asked.Param{{Name: "number", Kind: asked.Number, Min: 1, Max: 9}},
		Run: func(_ context.Context, r command.Request) (command.Reply, error) {
			return command.Reply{Text: fmt.Sprint(r.Args["number"].Number)}, nil
		},
	}
	r := newRig(t, bot.Options{}, count)
	for text, says := range map[string]string{"!licz 7": "7", "!licz": "!licz <liczba>", "!licz dużo": "dużo", "!licz 70": "9"} {
		r.say("ala", text)
		if got := r.next(); !strings.Contains(got.Message, says) {
			t.Errorf("%s: %q, want %q in it", text, got.Message, says)
		}
	}
	r.eventually("counted", func() bool { return r.outcomes("rejected") == 3 && r.outcomes("ok") == 1 })
}

// Over 2,000 bytes signal-cli would upload a text as a file.
func TestLongReplyGoesInParts(t *testing.T) {
	long := strings.Repeat("zażółć gęślą jaźń ", 300)
	talk := &command.Command{Name: "gadaj", Run: func(context.Context, command.Request) (command.Reply, error) {
		return command.Reply{Text: long}, nil
	}}
	r := newRig(t, bot.Options{}, talk, echo())
	r.say("ala", "!gadaj")
	r.say("ala", "!echo end")
	var parts []string
	for got := r.next(); got.Message != "ALA:end"; got = r.next() {
		if len(got.Message) > transport.MaxText {
			t.Errorf("a part of %d bytes", len(got.Message))
		}
		parts = append(parts, got.Message)
	}
	if all := strings.Join(parts, " "); strings.TrimSpace(all) != strings.TrimSpace(long) {
		t.Errorf("%d parts do not make up the text", len(parts))
	}
}

// What went out in part may not be had again for nothing.
func TestReplyThatWentOutInPartCounts(t *testing.T) {
	talk := &command.Command{Name: "gadaj", Limits: cooldown.Limits{User: time.Hour}, Run: func(context.Context, command.Request) (command.Reply, error) {
		return command.Reply{Text: strings.Repeat("słowo ", 500)}, nil
	}}
	r := newRig(t, bot.Options{}, talk)
	var sends atomic.Int32
	r.answerSendsWith(func(w http.ResponseWriter, _ *http.Request) {
		if sends.Add(1) == 2 {
			http.Error(w, `{"error":"invalid request"}`, http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"timestamp":"1"}`)
	})
	r.say("ala", "!gadaj")
	r.next()
	r.next()
	r.say("ala", "!gadaj")
	if got := r.next(); !strings.Contains(got.Message, "Chwila przerwy") {
		t.Errorf("then came %.40q", got.Message)
	}
}

func TestReplyQuotesTheQuestionWhenAsked(t *testing.T) {
	r := newRig(t, bot.Options{Quote: true}, echo())
	r.frames <- `{"account":"+15550100000","envelope":{"sourceUuid":"u1","timestamp":7,"dataMessage":{"timestamp":7,"message":"!echo x"}}}`
	if got := r.next(); got.QuoteTimestamp != 7 || got.QuoteAuthor != "u1" || got.QuoteMessage != "!echo x" {
		t.Errorf("sent %+v", got)
	}
}

// Who mentions the bot needs no prefix.
func TestMentionOfTheBotCallsIt(t *testing.T) {
	r := newRig(t, bot.Options{}, echo())
	r.frames <- `{"account":"+15550100000","envelope":{"sourceUuid":"u1","sourceName":"ALA","dataMessage":{"message":"\uFFFC echo x","mentions":[{"number":"+15550100000","uuid":"b","start":0,"length":1}]}}}`
	if got := r.next(); got.Message != "ALA:x" {
		t.Errorf("answered %q", got.Message)
	}
	r.frames <- `{"account":"+15550100000","envelope":{"sourceUuid":"u1","dataMessage":{"message":"\uFFFC echo x","mentions":[{"number":null,"uuid":"other","start":0,"length":1}]}}}`
	r.say("ela", "!echo last")
	if got := r.next(); got.Message != "ELA:last" {
		t.Errorf("somebody else's mention was answered: %q", got.Message)
	}
}

// signal-cli may deliver a message twice, and two open websockets do.
func TestAMessageThatComesTwiceIsAnsweredOnce(t *testing.T) {
	r := newRig(t, bot.Options{}, echo())
	twice := `{"account":"+15550100000","envelope":{"sourceUuid":"u1","sourceDevice":1,"timestamp":7,"dataMessage":{"timestamp":7,"message":"!echo once"}}}`
	r.frames <- twice
	r.frames <- twice
	r.frames <- strings.Replace(twice, `"sourceDevice":1`, `"sourceDevice":2`, 1) // another message of the same moment
	r.say("ala", "!echo last")
	var got []string
	for range 3 {
		got = append(got, r.next().Message)
	}
	slices.Sort(got)
	if want := []string{":once", ":once", "ALA:last"}; !slices.Equal(got, want) {
		t.Errorf("answered %q, want %q", got, want)
	}
	if n := r.dropped("duplicate"); n != 1 || len(r.replies) != 0 {
		t.Errorf("%d duplicates, %d more replies", n, len(r.replies))
	}
}
