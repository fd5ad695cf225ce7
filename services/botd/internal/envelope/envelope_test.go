package envelope_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/envelope"
)

// from is a frame from Ala.
func from(rest string) string {
	return `{"account":"` + account + `","envelope":{"source":"` + ala + `","sourceNumber":null,"sourceUuid":"` + ala + `","sourceName":"Ala","sourceDevice":2,` + rest + `}}`
}

const (
	account = "+15550100000"
	ala     = "11111111-1111-4111-8111-111111111111"
	groupID = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

func TestFramesAreRead(t *testing.T) {
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
			text(envelope.Message{Kind: envelope.KindText, Timestamp: 1700000000001, ServerTime: 1700000000100, Text: "!kot", GroupID: groupID, GroupName: "g"}),
		},
		{
			"text in a direct chat",
			`{"account":"+15550100000","envelope":{"sourceUuid":"` + ala + `","sourceName":"Ala","sourceDevice":2,"timestamp":7,"dataMessage":{"message":"!ja"}}}`,
			text(envelope.Message{Kind: envelope.KindText, Timestamp: 7, Text: "!ja"}),
		},
		{
			"mentions",
			`{"account":"+15550100000","envelope":{"sourceUuid":"` + ala + `","sourceName":"Ala","sourceDevice":2,"timestamp":7,"dataMessage":{"message":"\uFFFC !kot","mentions":[{"name":"x","number":null,"uuid":"u1","start":0,"length":1},{"number":"+1","start":3},{},null]}}}`,
			text(envelope.Message{Kind: envelope.KindText, Timestamp: 7, Text: "\uFFFC !kot", Mentions: []asked.Mention{{Start: 0, Length: 1, UUID: "u1"}, {Start: 3, Number: "+1"}, {}, {}}}),
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
			"an edit: the whole new text, and what it changes",
			from(`"timestamp":9,"editMessage":{"targetSentTimestamp":7,"dataMessage":{"timestamp":9,"message":"\uFFFC !kot","expiresInSeconds":60,"mentions":[{"uuid":"u1","start":0,"length":1}],"groupInfo":{"groupId":"` + groupID + `","groupName":"koty","type":"DELIVER"}}}`),
			text(envelope.Message{Kind: envelope.KindEdit, Timestamp: 9, Edits: 7, Text: "\uFFFC !kot", GroupID: groupID, GroupName: "koty", Mentions: []asked.Mention{{Start: 0, Length: 1, UUID: "u1"}}}),
		},
		{
			"an edit that names only what it changes",
			from(`"timestamp":9,"editMessage":{"targetSentTimestamp":7,"dataMessage":null}`),
			text(envelope.Message{Kind: envelope.KindEdit, Timestamp: 9, Edits: 7}),
		},
		{
			"a delete",
			from(`"timestamp":9,"dataMessage":{"timestamp":9,"message":null,"remoteDelete":{"timestamp":7},"groupInfo":{"groupId":"` + groupID + `","type":"DELIVER"}}`),
			text(envelope.Message{Kind: envelope.KindDelete, Timestamp: 9, Deletes: 7, GroupID: groupID}),
		},
		{
			"a receipt",
			from(`"timestamp":9,"receiptMessage":{"when":9,"isDelivery":true,"isRead":false,"isViewed":false,"timestamps":[7,8]}`),
			text(envelope.Message{Kind: envelope.KindReceipt, Timestamp: 9, Receipts: []int64{7, 8}}),
		},
		{
			"a receipt of what was viewed",
			from(`"timestamp":9,"receiptMessage":{"isDelivery":false,"isRead":null,"isViewed":true,"timestamps":[7]}`),
			text(envelope.Message{Kind: envelope.KindReceipt, Timestamp: 9, Receipts: []int64{7}}),
		},
		{
			"our other device wrote to a group",
			from(`"timestamp":9,"syncMessage":{"sentMessage":{"destination":null,"destinationNumber":null,"destinationUuid":null,"timestamp":8,"message":"!ja","groupInfo":{"groupId":"` + groupID + `","groupName":"koty","type":"DELIVER"}}}`),
			text(envelope.Message{Kind: envelope.KindSync, Timestamp: 8, Text: "!ja", GroupID: groupID, GroupName: "koty"}),
		},
		{
			"our other device wrote to a person",
			from(`"timestamp":9,"syncMessage":{"sentMessage":{"destination":"+1","destinationNumber":"+1","destinationUuid":"u1","timestamp":8,"message":"!ja"}}`),
			text(envelope.Message{Kind: envelope.KindSync, Timestamp: 8, Text: "!ja", To: "u1"}),
		},
		{
			"our other device wrote to somebody with a number only",
			from(`"timestamp":9,"syncMessage":{"sentMessage":{"destination":"x","destinationNumber":"+1","destinationUuid":null,"timestamp":8,"message":"!ja"}}`),
			text(envelope.Message{Kind: envelope.KindSync, Timestamp: 8, Text: "!ja", To: "+1"}),
		},
		{
			"our other device edited",
			from(`"timestamp":9,"syncMessage":{"sentMessage":{"destinationUuid":"u1","editMessage":{"targetSentTimestamp":7,"dataMessage":{"timestamp":8,"message":"!kot"}}}}`),
			text(envelope.Message{Kind: envelope.KindSync, Timestamp: 8, Text: "!kot", To: "u1", Edits: 7}),
		},
		{
			"our other device deleted",
			from(`"timestamp":9,"syncMessage":{"sentMessage":{"destinationUuid":"u1","timestamp":8,"message":null,"remoteDelete":{"timestamp":7}}}`),
			text(envelope.Message{Kind: envelope.KindSync, Timestamp: 8, To: "u1", Deletes: 7}),
		},
		{
			"our other device read something",
			from(`"timestamp":9,"syncMessage":{"readMessages":[{"sender":"x","timestamp":3}]}`),
			text(envelope.Message{Kind: envelope.KindSync, Timestamp: 9}),
		},
		{
			"attachments: those that were fetched",
			from(`"timestamp":9,"dataMessage":{"message":"!obraz","attachments":[{"contentType":"image/png","filename":null,"id":"a.png","size":3},{"contentType":"x","id":null},null,{"id":"b\u002fc.jpg"}]}`),
			text(envelope.Message{Kind: envelope.KindText, Timestamp: 9, Text: "!obraz", Attachments: []string{"a.png", "b/c.jpg"}}),
		},
		{
			"escapes, half surrogates and what is no UTF-8",
			from(`"timestamp":9,"dataMessage":{"message":"\"\\\/\b\f\n\r\t\u003c\u00F3\ud83d\udc4d\ud83dx\udc4d\ud83d\u0041` + "\xff\xc5" + `"}`),
			text(envelope.Message{Kind: envelope.KindText, Timestamp: 9, Text: "\"\\/\b\f\n\r\t<ó👍\ufffdx\ufffd\ufffdA\ufffd\ufffd"}),
		},
		{
			"of what comes twice the last counts",
			`{"account":"+1","envelope":{"dataMessage":{"message":"x"}},"account":"+15550100000","envelope":{"sourceUuid":"x","sourceU\u0075id":"` + ala + `","sourceName":"Ala","sourceDevice":2,"timestamp":7,"dataMessage":{"message":"x","groupInfo":{"groupId":"x"}},"dataMessage":{"message":"!ja"}}}`,
			text(envelope.Message{Kind: envelope.KindText, Timestamp: 7, Text: "!ja"}),
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

func TestAFieldTellsTheKind(t *testing.T) {
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

// Signal shows fewer and fewer numbers: who has none is still somebody, by the
// uuid, and stays the same one when a number is told later.
func TestTheUUIDIsTheSenderWhetherOrNotThereIsANumber(t *testing.T) {
	for told, number := range map[string]string{`null`: "", `""`: "", `"+15550111111"`: "+15550111111"} {
		m, err := envelope.Parse([]byte(`{"envelope":{"source":"+15550111111","sourceNumber":` + told + `,"sourceUuid":"` + ala + `","dataMessage":{"message":"!ja"}}}`))
		if err != nil || m.Sender != ala || m.Number != number {
			t.Errorf("%s: %+v, %v", told, m, err)
		}
	}
}

func TestParseRefusesWhatIsNoFrame(t *testing.T) {
	for _, raw := range []string{
		"", "null", "[]", `"x"`, "{", `{"account":1}`, `{"account":"+1"}`, `{"envelope":[]}`, `{"envelope":null}`,
		`{"envelope":{}} {}`, `{"envelope":{}}x`, `{"envelope":{},}`, `{"envelope":{}"x":1}`, `{"envelope" {}}`, `{envelope:{}}`, `{"error":""}`,
		`{"envelope":{"sourceDevice":"2"}}`, `{"envelope":{"timestamp":1.5}}`, `{"envelope":{"timestamp":1e3}}`, `{"envelope":{"timestamp":99999999999999999999}}`,
		`{"envelope":{"dataMessage":{"message":7}}}`, `{"envelope":{"dataMessage":{"mentions":{}}}}`, `{"envelope":{"dataMessage":{"mentions":[7]}}}`,
		`{"envelope":{"dataMessage":{"groupInfo":"x"}}}`, `{"envelope":{"typingMessage":true}}`, `{"envelope":{"receiptMessage":{"timestamps":1}}}`,
		`{"envelope":{"x":01}}`, `{"envelope":{"x":-}}`, `{"envelope":{"x":- 1}}`, `{"envelope":{"x":1.}}`, `{"envelope":{"x":1e}}`, `{"envelope":{"x":.5}}`,
		`{"envelope":{"x":nul}}`, `{"envelope":{"x":truer}}`, `{"envelope":{"x":"\x"}}`, `{"envelope":{"x":"\u12g4"}}`, "{\"envelope\":{\"x\":\"\n\"}}", `{"envelope":{"x":"\"}}`,
		`{"envelope":{"x":[1,]}}`, `{"envelope":{"x":[1 2]}}`, `{"envelope":{"x":{"y"}}}`, `{"envelope":{"x":[}]}}`,
		`{"envelope":{"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`,
	} {
		if _, err := envelope.Parse([]byte(raw)); !errors.Is(err, envelope.ErrFrame) {
			t.Errorf("%.80q: error %v, want ErrFrame", raw, err)
		}
	}
}

// A cut frame is refused wherever it was cut.
func TestAFrameThatWasCutIsNone(t *testing.T) {
	for _, raw := range frames {
		for n := range len(raw) {
			if m, err := envelope.Parse([]byte(raw[:n])); err == nil {
				t.Errorf("%s: %+v", raw[:n], m)
			}
		}
	}
}

func TestWhatAFrameTellsIsBounded(t *testing.T) {
	list := func(n int, element string) string { return strings.TrimSuffix(strings.Repeat(element+",", n), ",") }
	m, err := envelope.Parse([]byte(from(`"dataMessage":{"message":"x","attachments":[` + list(100, `{"id":"a"}`) + `]}`)))
	if err != nil || len(m.Attachments) != 32 {
		t.Errorf("%d attachments, %v", len(m.Attachments), err)
	}
	m, err = envelope.Parse([]byte(from(`"receiptMessage":{"isRead":true,"timestamps":[` + list(1000, "7") + `]}`)))
	if err != nil || len(m.Receipts) != 256 || m.Receipts[255] != 7 {
		t.Errorf("%d timestamps, %v", len(m.Receipts), err)
	}
}

// An author's uuid and a group's id are keys that are kept for a day. They must
// not keep the text beside them.
func TestAKeyDoesNotKeepTheTextBesideIt(t *testing.T) {
	m, err := envelope.Parse([]byte(frames["text"]))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{m.Sender, m.GroupID} {
		for _, other := range []string{m.Text, m.Name, m.Account, m.GroupName} {
			from, to := uintptr(unsafe.Pointer(unsafe.StringData(key))), uintptr(unsafe.Pointer(unsafe.StringData(other)))
			if max(from, to)-min(from, to) < 64 {
				t.Errorf("%q lies beside %q", key, other)
			}
		}
	}
}

func TestAMessageOnDiskIsShortAndComesBack(t *testing.T) {
	for name, raw := range frames {
		m, err := envelope.Parse([]byte(raw))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kept, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back envelope.Message
		if err := json.Unmarshal(kept, &back); err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("%s comes back as %+v, %v", name, back, err)
		}
		var fields map[string]any
		if err := json.Unmarshal(kept, &fields); err != nil {
			t.Fatal(err)
		}
		for field, value := range fields {
			if v := reflect.ValueOf(value); !v.IsValid() || v.IsZero() {
				t.Errorf("%s keeps that it has no %s", name, field)
			}
		}
	}
}

// What an earlier version wrote has every field, and is still a message.
func TestAMessageThatAnEarlierVersionKeptIsRead(t *testing.T) {
	const kept = `{"Kind":"text","Account":"+1","Sender":"u","Number":"","Name":"Ala","Device":2,"Timestamp":7,"Text":"!ja","GroupID":"","Mentions":null}`
	var m envelope.Message
	want := envelope.Message{Kind: envelope.KindText, Account: "+1", Sender: "u", Name: "Ala", Device: 2, Timestamp: 7, Text: "!ja"}
	if err := json.Unmarshal([]byte(kept), &m); err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestParseAllocatesLittle(t *testing.T) {
	for name, raw := range frames {
		raw := []byte(raw)
		// A block of texts, the author, the group, and each list.
		if n := testing.AllocsPerRun(100, func() { _, _ = envelope.Parse(raw) }); n > 5 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
