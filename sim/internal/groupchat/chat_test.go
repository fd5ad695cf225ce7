package groupchat_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"quartet/sim/internal/groupchat"
	"quartet/sim/internal/signalnet"
)

func asked(text string, timestamp int64, group string) signalnet.Frame {
	return signalnet.Frame{Spec: signalnet.Spec{Text: text, Sender: "s", Name: "Ala", Group: group, Timestamp: timestamp}}
}

func answered(text string, quote int64, group string) signalnet.Sent {
	return signalnet.Sent{Done: time.Now(), Message: signalnet.Message{Text: text, QuoteTimestamp: quote, Groups: []string{group}}}
}

// shown returns what the event stream has written, without waiting for more, to
// a page that has seen the event with the id last.
func shown(t *testing.T, c *groupchat.Chat, last string) string {
	t.Helper()
	mux := http.NewServeMux()
	c.Mount(mux, nil)
	server := httptest.NewServer(mux)
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/_sim/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", last)
	answer, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	buffer := make([]byte, 64<<10)
	var text string
	for !strings.Contains(text, "the end") {
		n, err := answer.Body.Read(buffer)
		if text += string(buffer[:n]); err != nil {
			t.Fatalf("%v after %s", err, text)
		}
	}
	return text
}

func TestAnAnswerBelongsToTheCommandItQuotes(t *testing.T) {
	group := signalnet.DemoGroup("Koty")
	c := groupchat.New(group)
	c.Asked(asked("!first", 1, group.ID))
	c.Asked(asked("!second", 2, group.ID))
	c.Answered(answered("to the second", 2, group.ID))
	c.Answered(answered("to the one that waits longest", 0, group.ID))
	c.Answered(answered("the end", 0, group.ID))
	text := shown(t, c, "")
	for _, want := range []string{`"text":"to the second","at":`, `"question":"!second"`, `"question":"!first"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s has no %s", text, want)
		}
	}
	if strings.Contains(text[strings.Index(text, "the end"):], "question") {
		t.Error("an answer to nothing has a question")
	}
}

func TestOnlyTheDemoGroupIsShown(t *testing.T) {
	group := signalnet.DemoGroup("Koty")
	c := groupchat.New(group)
	c.Asked(asked("elsewhere", 1, signalnet.NamedGroup("x").ID))
	c.Answered(answered("elsewhere too", 0, ""))
	c.Asked(asked("the end", 2, group.ID))
	if text := shown(t, c, ""); strings.Contains(text, "elsewhere") {
		t.Errorf("shown: %s", text)
	}
}

func TestPageGoesOnWhereItWasAndBeginsAnewAfterARestart(t *testing.T) {
	group := signalnet.DemoGroup("Koty")
	var lives [2]*groupchat.Chat
	for i := range lives {
		lives[i] = groupchat.New(group)
		lives[i].Asked(asked("the first", 1, group.ID))
		lives[i].Asked(asked("the end", 2, group.ID))
	}
	_, rest, _ := strings.Cut(shown(t, lives[0], ""), "id: ")
	last, _, _ := strings.Cut(rest, "\n")
	if text := shown(t, lives[0], last); strings.Contains(text, "the first") || strings.Contains(text, "event: restart") {
		t.Errorf("after the event %s comes %s", last, text)
	}
	if text := shown(t, lives[1], last); !strings.Contains(text, "event: restart\ndata:") || !strings.Contains(text, "the first") {
		t.Errorf("after a restart comes %s", text)
	}
}

func TestNewTextsDeletionsQuotesAndReactionsAreShown(t *testing.T) {
	group := signalnet.DemoGroup("Koty")
	c := groupchat.New(group)
	c.Asked(asked("!kto", 1, group.ID))
	with := func(text string, timestamp int64, x signalnet.Extra) {
		f := asked(text, timestamp, group.ID)
		f.Spec.Extra = &x
		c.Asked(f)
	}
	with("!kot", 5, signalnet.Extra{EditOf: 1})
	with("look", 6, signalnet.Extra{Attachments: make(signalnet.Files, 2), Quote: &signalnet.Quoted{Timestamp: 1, Author: "s", Text: "!kto"}})
	with("", 7, signalnet.Extra{DeleteOf: 6})
	with("", 8, signalnet.Extra{Reaction: &signalnet.Reacted{Emoji: "👍", TargetAuthor: "bot", TargetTimestamp: 9}})
	with("", 8, signalnet.Extra{Typing: "STARTED"})
	sent := answered("miau", 1, group.ID)
	sent.QuoteMessage = "!kto"
	c.Answered(sent)
	changed := answered("hau", 0, group.ID)
	changed.EditTimestamp = 9
	c.Answered(changed)
	c.Signed(signalnet.Sign{Kind: "remote_delete", Groups: []string{group.ID}, Timestamp: 9})
	c.Asked(asked("the end", 10, group.ID))
	text := shown(t, c, "")
	for _, want := range []string{
		`"kind":"edit","from":"user","sender":"s","name":"Ala","text":"!kot"`,
		`"timestamp":6,"quote":{"author":"s","text":"!kto","timestamp":1},"files":2`,
		`"kind":"delete","from":"user","sender":"s"`,
		`"kind":"reaction","from":"user","sender":"bot","name":"Ala","text":"👍"`,
		`"quote":{"author":"","text":"!kto","timestamp":1},"question":"!kto"`,
		`"kind":"edit","from":"bot","name":"bot","text":"hau"`,
		`"kind":"delete","from":"bot"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s has no %s", text, want)
		}
	}
	if strings.Contains(text, "typing") {
		t.Error("that a person types is shown as if it were the bot")
	}
}
