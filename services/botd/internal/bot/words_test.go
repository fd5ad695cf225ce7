package bot_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/transport"
)

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
