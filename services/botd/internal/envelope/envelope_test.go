package envelope_test

import (
	"errors"
	"reflect"
	"testing"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/envelope"
)

const (
	account = "+15550100000"
	ala     = "11111111-1111-4111-8111-111111111111"
	groupID = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

func TestParse(t *testing.T) {
	text := func(m envelope.Message) envelope.Message {
		m.Account, m.Sender, m.Name, m.Device = account, ala, "Ala", 2
		return m
	}
	tests := []struct {
		name, raw string
		want      envelope.Message
	}{
		{
			"text in a group",
			`{"account":"+15550100000","envelope":{"source":"` + ala + `","sourceNumber":null,"sourceUuid":"` + ala + `","sourceName":"Ala","sourceDevice":2,"timestamp":1700000000001,"serverReceivedTimestamp":1700000000100,"dataMessage":{"timestamp":1700000000001,"message":"!kot","expiresInSeconds":0,"viewOnce":false,"groupInfo":{"groupId":"` + groupID + `","groupName":"g","revision":1,"type":"DELIVER"}}}}`,
			text(envelope.Message{Kind: envelope.KindText, Timestamp: 1700000000001, Text: "!kot", GroupID: groupID}),
		},
		{
			"text in a direct chat",
			`{"account":"+15550100000","envelope":{"sourceUuid":"` + ala + `","sourceName":"Ala","sourceDevice":2,"timestamp":7,"dataMessage":{"message":"!ja"}}}`,
			text(envelope.Message{Kind: envelope.KindText, Timestamp: 7, Text: "!ja"}),
		},
		{
			"mentions",
			`{"account":"+15550100000","envelope":{"sourceUuid":"` + ala + `","sourceName":"Ala","sourceDevice":2,"timestamp":7,"dataMessage":{"message":"\uFFFC !kot","mentions":[{"name":"x","number":null,"uuid":"u1","start":0,"length":1}]}}}`,
			text(envelope.Message{Kind: envelope.KindText, Timestamp: 7, Text: "\uFFFC !kot", Mentions: []asked.Mention{{Start: 0, Length: 1, UUID: "u1"}}}),
		},
		{
			"an old server names only the source",
			`{"account":"+15550100000","envelope":{"source":"` + ala + `","sourceName":"Ala","sourceDevice":2,"timestamp":7,"dataMessage":{"message":"!ja"}}}`,
			text(envelope.Message{Kind: envelope.KindText, Timestamp: 7, Text: "!ja"}),
		},
		{
			"a reaction has no text",
			`{"account":"+15550100000","envelope":{"sourceUuid":"` + ala + `","sourceName":"Ala","sourceDevice":2,"timestamp":7,"dataMessage":{"timestamp":7,"message":null,"reaction":{"emoji":"👍"}}}}`,
			text(envelope.Message{Kind: envelope.KindOther, Timestamp: 7}),
		},
		{
			"a group update is not a message",
			`{"account":"+15550100000","envelope":{"sourceUuid":"` + ala + `","sourceName":"Ala","sourceDevice":2,"timestamp":7,"dataMessage":{"message":"x","groupInfo":{"groupId":"` + groupID + `","type":"UPDATE"}}}}`,
			text(envelope.Message{Kind: envelope.KindGroup, Timestamp: 7, Text: "x", GroupID: groupID}),
		},
		{
			"every field null",
			`{"account":"+15550100000","envelope":{"source":null,"sourceNumber":null,"sourceUuid":null,"sourceName":null,"sourceDevice":null,"timestamp":null,"dataMessage":null,"syncMessage":null}}`,
			envelope.Message{Kind: envelope.KindEmpty, Account: account},
		},
		{
			"an exception and no envelope",
			`{"account":"+15550100000","exception":{"message":"…","type":"InvalidMessageStructureException"}}`,
			envelope.Message{Kind: envelope.KindException, Account: account},
		},
		{
			"a notification that carried an error",
			`{"error":"unexpected"}`,
			envelope.Message{Kind: envelope.KindException},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := envelope.Parse([]byte(tt.raw))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestParseKinds(t *testing.T) {
	for field, want := range map[string]envelope.Kind{
		"editMessage":    envelope.KindEdit,
		"syncMessage":    envelope.KindSync,
		"receiptMessage": envelope.KindReceipt,
		"typingMessage":  envelope.KindTyping,
		"callMessage":    envelope.KindCall,
		"storyMessage":   envelope.KindStory,
		"inventedSince":  envelope.KindEmpty,
	} {
		got, err := envelope.Parse([]byte(`{"account":"+1","envelope":{"` + field + `":{"a":[1,{"b":null}]}}}`))
		if err != nil || got.Kind != want {
			t.Errorf("%s: kind %q, error %v, want %q", field, got.Kind, err, want)
		}
	}
}

func TestParseRefusesWhatIsNoFrame(t *testing.T) {
	for _, raw := range []string{"", "null", "[]", `"x"`, "{", `{"account":1}`, `{"account":"+1"}`, `{"envelope":[]}`} {
		if _, err := envelope.Parse([]byte(raw)); !errors.Is(err, envelope.ErrFrame) {
			t.Errorf("%q: error %v, want ErrFrame", raw, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"account":"+1","envelope":{"sourceUuid":"u","dataMessage":{"message":"!kot","groupInfo":{"groupId":"AA=="}}}}`))
	f.Add([]byte(`{"account":"+1","exception":{}}`))
	f.Add([]byte(`{"envelope":{"dataMessage":{"message":"\ud800"}}}`))
	f.Add([]byte(`[{}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := envelope.Parse(raw)
		if err != nil {
			if !errors.Is(err, envelope.ErrFrame) {
				t.Errorf("error %v does not wrap ErrFrame", err)
			}
			if !reflect.DeepEqual(m, envelope.Message{}) {
				t.Errorf("an error came with a message: %+v", m)
			}
			return
		}
		if m.Kind == "" {
			t.Error("a frame without a kind")
		}
		if m.Kind == envelope.KindText && m.Text == "" {
			t.Error("a text message without text")
		}
	})
}
