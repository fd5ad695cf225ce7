package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"quartet/sim/internal/signalnet"
)

// emitted queues the frames that are given as JSON and returns the first one as
// the websocket gets it.
func (s *sim) emitted(conn *websocket.Conn, frames string) string {
	s.t.Helper()
	s.must(202, "POST", "/_sim/frames", frames, nil)
	ctx, cancel := context.WithTimeout(s.t.Context(), bounds)
	defer cancel()
	_, content, err := conn.Read(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(content)
}

func TestEveryKindOfFrameHasSignalsForm(t *testing.T) {
	s := start(t, "-quirks", "drop_when_busy=false")
	conn := s.dial(bot)
	for _, c := range []struct {
		name, frame string
		has         []string
	}{
		{"an edit", `"text":"!kot","timestamp":9,"edit_of":5`, []string{`"editMessage":{"targetSentTimestamp":5,"dataMessage":{"timestamp":9,"message":"!kot"`, `"timestamp":9,"serverReceived`}},
		{"a deletion", `"delete_of":5`, []string{`"dataMessage":{`, `"message":null`, `"remoteDelete":{"timestamp":5}`}},
		{"a reaction", `"reaction":{"emoji":"👍","target_author":"` + signalnet.BotUUID + `","target_timestamp":5}`, []string{`"message":null`, `"reaction":{"emoji":"👍","targetAuthor":"` + signalnet.BotUUID + `","targetAuthorNumber":"` + bot + `"`, `"targetSentTimestamp":5,"isRemove":false`}},
		{"typing", `"typing":"STARTED"`, []string{`"typingMessage":{"action":"STARTED","timestamp":`, `"groupId":"` + koty.ID + `"`}},
		{"a read receipt", `"receipt":{"kind":"read","timestamps":[5,6]}`, []string{`"receiptMessage":{"when":`, `"isDelivery":false,"isRead":true,"isViewed":false,"timestamps":[5,6]`}},
		{"a delivery receipt", `"receipt":{"kind":"delivery","timestamps":[5]}`, []string{`"isDelivery":true,"isRead":false`}},
		{"an update", `"update":true`, []string{`"message":null`, `"groupInfo":{"groupId":"` + koty.ID + `","groupName":"Koty","revision":1,"type":"UPDATE"}`}},
		{"attachments alone", `"attachments":2`, []string{`"message":null`, `"attachments":[{"contentType":"image/jpeg","filename":null,"id":"sim`, `.jpg","size":1024,"width":null`}},
		{"a named attachment", `"text":"x","attachments":[{"content_type":"application/pdf","filename":"a.pdf","bytes":7}]`, []string{`"message":"x"`, `"contentType":"application/pdf","filename":"a.pdf","id":"sim`, `"size":7`}},
		{"a mention", `"text":"\ufffc !kot","mentions":[{"start":0,"length":1,"uuid":"` + signalnet.BotUUID + `","name":"bot"}]`, []string{`"mentions":[{"name":"bot","number":"` + bot + `","uuid":"` + signalnet.BotUUID + `","start":0,"length":1}]`}},
		{"a quote", `"text":"x","quote":{"timestamp":5,"author":"` + signalnet.BotUUID + `","text":"y"}`, []string{`"quote":{"id":5,"author":"` + signalnet.BotUUID + `"`, `"text":"y"`}},
		{"a message that vanishes", `"text":"x","view_once":true,"expires":60`, []string{`"expiresInSeconds":60`, `"viewOnce":true`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.emitted(conn, fmt.Sprintf(`[{"sender":%q,"group":%q,%s}]`, ala, koty.ID, c.frame))
			for _, want := range c.has {
				if !strings.Contains(got, want) {
					t.Errorf("%s has no %s", got, want)
				}
			}
			if strings.Count(got, `Message":{`) != 1+strings.Count(got, `"editMessage"`) {
				t.Errorf("%s is of two kinds", got)
			}
		})
	}
}

func TestWhatTheBotsOwnAccountWritesIsASyncMessage(t *testing.T) {
	s := start(t, "-quirks", "number_null,drop_when_busy=false")
	conn := s.dial(bot)
	for frame, want := range map[string]string{
		`{"sync":true,"text":"x","group":"` + koty.ID + `","timestamp":9}`:   `"syncMessage":{"sentMessage":{"destination":null,"destinationNumber":null,"destinationUuid":null,"timestamp":9,"message":"x"`,
		`{"sync":true,"text":"x","to":"` + ala + `","timestamp":9}`:          `"sentMessage":{"destination":"` + ala + `","destinationNumber":null,"destinationUuid":"` + ala + `","timestamp":9,"message":"x"`,
		`{"sync":true,"text":"y","to":"` + ala + `","edit_of":5,"device":3}`: `"editMessage":{"targetSentTimestamp":5,"dataMessage":{`,
	} {
		got := s.emitted(conn, "["+frame+"]")
		if !strings.Contains(got, want) || !strings.Contains(got, `"sourceNumber":"`+bot+`","sourceUuid":"`+signalnet.BotUUID+`"`) {
			t.Errorf("%s became %s", frame, got)
		}
	}
}

func TestAFrameMayBeOld(t *testing.T) {
	s := start(t, "-quirks", "drop_when_busy=false")
	var f struct {
		Envelope struct{ Timestamp, ServerReceivedTimestamp, ServerDeliveredTimestamp int64 }
	}
	if err := json.Unmarshal([]byte(s.emitted(s.dial(bot), `[{"sender":"`+ala+`","text":"x","age":"10m"}]`)), &f); err != nil {
		t.Fatal(err)
	}
	e := f.Envelope
	if age := e.ServerDeliveredTimestamp - e.ServerReceivedTimestamp; age != 600_000 || e.ServerDeliveredTimestamp-e.Timestamp < 600_000 {
		t.Errorf("the frame is %d ms old: %+v", age, e)
	}
}

func TestFramesThatMakeNoSenseAreRefused(t *testing.T) {
	s := start(t)
	for _, frame := range []string{
		`{"text":"x"}`, `{"sender":"a","edit_of":1,"delete_of":2}`, `{"sync":true,"typing":"STARTED"}`, `{"sender":"a","update":true}`,
		`{"sender":"a","typing":"MAYBE"}`, `{"sender":"a","receipt":{"kind":"read"}}`, `{"sender":"a","attachments":33}`,
		`{"sender":"a","attachments":[{"bytes":-1}]}`, `{"sender":"a","age":"-1s"}`, `{"sender":"a","age":"long"}`,
	} {
		if status, _, answer := s.call("POST", "/_sim/frames", "["+frame+"]"); status != 400 || !strings.Contains(answer, `{"error":"`) {
			t.Errorf("%s: %d %s", frame, status, answer)
		}
	}
	if v := s.stats(); v.Queued != 0 || v.Emitted != 0 {
		t.Errorf("%+v", v)
	}
}

func TestTheLogOfFramesTellsWhatWasEmitted(t *testing.T) {
	s := start(t)
	s.must(202, "POST", "/_sim/frames", `[{"sender":"`+ala+`","text":"`+strings.Repeat("ł", 200)+`","timestamp":5,"attachments":1},{"sender":"`+ala+`","edit_of":5,"text":"!ja"}]`, nil)
	s.until("emitted", func(v stats) bool { return v.Emitted == 2 })
	var page struct {
		Frames []signalnet.Emitted
		Next   uint64
	}
	s.must(200, "GET", "/_sim/frames?after=0&wait=10s", "", &page)
	f := page.Frames
	if len(f) != 2 || f[0].Kind != "message" || f[0].Timestamp != 5 || len(f[0].Files) != 1 || f[0].Text != strings.Repeat("ł", 100) || f[1].Kind != "edit" || page.Next != 2 {
		t.Errorf("%+v", page)
	}
}

func TestASeriesIsWhatItSays(t *testing.T) {
	s := start(t, "-quirks", "drop_when_busy=false")
	conn := s.dial(bot)
	const series = `{"count":400,"people":20,"groups":5,"direct":0.25,"text":["!ja","!pomoc"],"noise":0.5,"first":7}`
	var queued struct{ Queued, Commands int }
	s.must(202, "POST", "/_sim/frames", series, &queued)
	commands, chats, texts := 0, map[string]map[string]bool{}, map[string]int{}
	ctx, cancel := context.WithTimeout(t.Context(), 2*bounds)
	defer cancel()
	for range 400 {
		_, content, err := conn.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var f frame
		if err := json.Unmarshal(content, &f); err != nil {
			t.Fatal(err)
		}
		who, chat := f.Envelope.SourceUUID, "direct"
		if g := f.Envelope.DataMessage.GroupInfo; g != nil {
			chat = g.GroupName
		}
		if chats[who] == nil {
			chats[who] = map[string]bool{}
		}
		chats[who][chat] = true
		if strings.HasPrefix(f.text(), "!") {
			commands++
			texts[f.text()]++
		} else if len(content) < 540 || len(content) > 2060 {
			t.Errorf("a frame without a command has %d bytes", len(content))
		}
	}
	if queued.Queued != 400 || commands != queued.Commands || commands < 150 || commands > 250 || texts["!ja"] == 0 || texts["!pomoc"] == 0 {
		t.Errorf("%d commands, %v of %+v", commands, texts, queued)
	}
	direct := 0
	for who, in := range chats {
		if len(in) != 1 {
			t.Errorf("%s writes in %v", who, in)
		}
		if in["direct"] {
			direct++
		}
	}
	if len(chats) != 20 || direct != 5 || chats[signalnet.Person(7)] == nil || chats[signalnet.Person(26)] == nil {
		t.Errorf("%d people, %d of them directly", len(chats), direct)
	}
	var list []struct{ Name string }
	if s.must(200, "GET", "/_sim/groups", "", &list); len(list) != 7 || list[6].Name != "load 4" {
		t.Errorf("groups are %+v", list)
	}
}

func TestASeriesCanBeCutShort(t *testing.T) {
	s := start(t)
	s.must(202, "POST", "/_sim/frames?spacing=1h", `{"count":10000000,"text":"x"}`, nil)
	s.until("queued", func(v stats) bool { return v.Queued == 9_999_999 })
	s.must(204, "POST", "/_sim/reset", "", nil)
	s.until("forgotten", func(v stats) bool { return v.Queued == 0 })
	for _, series := range []string{`{"count":0,"text":"x"}`, `{"count":1}`, `{"count":1,"text":"x","noise":2}`, `{"count":1,"text":"x","poeple":3}`, `{"count":1,"text":"x","spacing":"2h"}`} {
		if status, _, answer := s.call("POST", "/_sim/frames", series); status != 400 {
			t.Errorf("%s: %d %s", series, status, answer)
		}
	}
}

func TestTheTimeToAnswerIsMeasured(t *testing.T) {
	s := start(t, "-latency", "send_text=300ms")
	s.emit("0", "!kot", "no question", "!ja")
	s.until("emitted", func(v stats) bool { return v.Emitted == 3 })
	var page struct{ Frames []signalnet.Emitted }
	s.must(200, "GET", "/_sim/frames", "", &page)
	body := func(quoted int64) string {
		return fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"x","quote_timestamp":%d,"quote_author":%q}`, bot, publicKoty, quoted, ala)
	}
	s.send(body(page.Frames[2].Timestamp))
	s.send(body(page.Frames[0].Timestamp))
	s.send(message("to nothing"))
	var r struct {
		Asked, Answered, Open, Unmatched int
		OutOfOrder                       int `json:"out_of_order"`
		Emission                         struct {
			Count int
			P50   float64 `json:"p50_ms"`
			Max   float64 `json:"max_ms"`
		}
	}
	s.must(200, "GET", "/_sim/latencies", "", &r)
	// The second answer came after the first one's 300 ms; its own time is not counted.
	if r.Asked != 2 || r.Answered != 2 || r.Open != 0 || r.Unmatched != 1 || r.OutOfOrder != 1 || r.Emission.Count != 2 || r.Emission.Max < 300 {
		t.Errorf("%+v", r)
	}
	s.must(204, "DELETE", "/_sim/latencies", "", nil)
	if s.must(200, "GET", "/_sim/latencies", "", &r); r.Asked != 0 || r.Emission.Count != 0 {
		t.Errorf("afterwards: %+v", r)
	}
}
