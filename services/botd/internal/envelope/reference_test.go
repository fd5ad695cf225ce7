package envelope_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"testing"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/envelope"
)

// frames are one of each kind, as servers write them.
var frames = map[string]string{
	"text":      from(`"timestamp":1700000000001,"serverReceivedTimestamp":1700000000100,"serverDeliveredTimestamp":1700000000101,"dataMessage":{"timestamp":1700000000001,"message":"!obraz kot \u003c3\n😺","expiresInSeconds":0,"isExpirationUpdate":false,"viewOnce":false,"mentions":[{"name":"x","number":null,"uuid":"u1","start":0,"length":1}],"attachments":[{"contentType":"image/jpeg","filename":null,"id":"x.jpg","size":1234}],"groupInfo":{"groupId":"` + groupID + `","groupName":"koty","revision":17,"type":"DELIVER"}}`),
	"reaction":  from(`"timestamp":7,"dataMessage":{"timestamp":7,"message":null,"reaction":{"emoji":"👍","targetAuthor":"x","targetSentTimestamp":3,"isRemove":false}}`),
	"update":    from(`"timestamp":7,"dataMessage":{"timestamp":7,"message":null,"groupInfo":{"groupId":"` + groupID + `","groupName":null,"revision":18,"type":"UPDATE"}}`),
	"edit":      from(`"timestamp":9,"editMessage":{"targetSentTimestamp":7,"dataMessage":{"timestamp":9,"message":"!kot","groupInfo":{"groupId":"` + groupID + `","type":"DELIVER"}}}`),
	"delete":    from(`"timestamp":9,"dataMessage":{"timestamp":9,"message":null,"remoteDelete":{"timestamp":7}}`),
	"sync":      from(`"timestamp":9,"syncMessage":{"sentMessage":{"destination":null,"destinationNumber":null,"destinationUuid":"u1","timestamp":8,"message":"!ja","groupInfo":null}}`),
	"sync edit": from(`"timestamp":9,"syncMessage":{"sentMessage":{"destinationUuid":"u1","editMessage":{"targetSentTimestamp":7,"dataMessage":{"timestamp":8,"message":"!kot"}}}}`),
	"sync read": from(`"timestamp":9,"syncMessage":{"readMessages":[{"sender":"+15550111111","senderNumber":"+15550111111","senderUuid":"u1","timestamp":3}]}`),
	"receipt":   from(`"timestamp":9,"serverReceivedTimestamp":1700000000100,"receiptMessage":{"when":9,"isDelivery":true,"isRead":false,"isViewed":false,"timestamps":[7,8]}`),
	"typing":    from(`"timestamp":9,"serverReceivedTimestamp":1700000000100,"serverDeliveredTimestamp":1700000000101,"typingMessage":{"action":"STARTED","timestamp":9,"groupId":"` + groupID + `"}`),
	"call":      from(`"timestamp":9,"callMessage":{"offerMessage":{"id":-1.5e-3,"type":"AUDIO_CALL"}}`),
	"story":     from(`"timestamp":9,"storyMessage":{}`),
	"empty":     from(`"timestamp":9`),
	"exception": `{"account":"` + account + `","exception":{"message":"…","type":"InvalidMessageStructureException"}}`,
}

// members is a JSON object by its exact names, nil for null. Of a name that
// comes twice the last value counts.
type members map[string]json.RawMessage

var errReference = errors.New("not a frame")

// into decodes one member into to, when it is there and not null.
func (m members) into(name string, to any) {
	if raw, ok := m[name]; ok {
		if json.Unmarshal(raw, to) != nil {
			panic(errReference)
		}
	}
}

func (m members) object(name string) (o members) {
	m.into(name, &o)
	return o
}

func (m members) text(name string) (s string) {
	m.into(name, &s)
	return s
}

func (m members) number(name string) (n int64) {
	m.into(name, &n)
	return n
}

// reference is Parse by encoding/json, as plain as can be.
func reference(raw []byte) (m envelope.Message, err error) {
	defer func() {
		if r := recover(); r == errReference {
			m, err = envelope.Message{}, errReference
		} else if r != nil {
			panic(r)
		}
	}()
	var f members
	if json.Unmarshal(raw, &f) != nil || f == nil {
		return m, errReference
	}
	e, exception, fault := f.object("envelope"), f.object("exception"), f.text("error")
	m.Account = f.text("account")
	if e == nil {
		if exception == nil && fault == "" {
			return envelope.Message{}, errReference
		}
		m.Kind = envelope.KindException
		return m, nil
	}
	m.Sender = cmp.Or(e.text("sourceUuid"), e.text("source"))
	m.Number, m.Name, m.Device = e.text("sourceNumber"), e.text("sourceName"), int(e.number("sourceDevice"))
	m.Timestamp, m.ServerTime = e.number("timestamp"), e.number("serverReceivedTimestamp")
	data, edit, sync, receipt := e.object("dataMessage"), e.object("editMessage"), e.object("syncMessage"), e.object("receiptMessage")
	typing, call, story := e.object("typingMessage"), e.object("callMessage"), e.object("storyMessage")
	sent := sync.object("sentMessage")
	var checked envelope.Message // every part has to be sound, also one that another hides
	for _, d := range []members{data, edit.object("dataMessage"), sent, sent.object("editMessage").object("dataMessage")} {
		fill(&checked, d)
	}
	_ = edit.number("targetSentTimestamp") + sent.object("editMessage").number("targetSentTimestamp")
	to := cmp.Or(sent.text("destinationUuid"), sent.text("destinationNumber"), sent.text("destination"))
	times := []*int64{}
	receipt.into("timestamps", &times)
	m.To = to
	switch {
	case data != nil:
		fill(&m, data)
		switch {
		case data.object("groupInfo").text("type") == "UPDATE":
			m.Kind = envelope.KindGroup
		case m.Deletes != 0:
			m.Kind = envelope.KindDelete
		case m.Text != "":
			m.Kind = envelope.KindText
		default:
			m.Kind = envelope.KindOther
		}
	case edit != nil:
		m.Kind, m.Edits = envelope.KindEdit, edit.number("targetSentTimestamp")
		fill(&m, edit.object("dataMessage"))
	case sync != nil:
		m.Kind = envelope.KindSync
		if again := sent.object("editMessage"); again != nil {
			m.Edits = again.number("targetSentTimestamp")
			fill(&m, again.object("dataMessage"))
		} else {
			fill(&m, sent)
		}
	case receipt != nil:
		m.Kind = envelope.KindReceipt
		for _, n := range times[:min(len(times), 256)] {
			if n == nil {
				n = new(int64)
			}
			m.Receipts = append(m.Receipts, *n)
		}
	case typing != nil:
		m.Kind = envelope.KindTyping
	case call != nil:
		m.Kind = envelope.KindCall
	case story != nil:
		m.Kind = envelope.KindStory
	default:
		m.Kind = envelope.KindEmpty
	}
	return m, nil
}

// fill takes over what a data message holds.
func fill(m *envelope.Message, d members) {
	m.Text = d.text("message")
	m.Timestamp = cmp.Or(d.number("timestamp"), m.Timestamp)
	g := d.object("groupInfo")
	m.GroupID, m.GroupName, _ = g.text("groupId"), g.text("groupName"), g.text("type")
	m.Deletes = d.object("remoteDelete").number("timestamp")
	var list []members
	d.into("mentions", &list)
	for _, n := range list {
		m.Mentions = append(m.Mentions, asked.Mention{Start: int(n.number("start")), Length: int(n.number("length")), UUID: n.text("uuid"), Number: n.text("number")})
	}
	list = nil
	d.into("attachments", &list)
	for _, a := range list {
		if id := a.text("id"); id != "" && len(m.Attachments) < 32 {
			m.Attachments = append(m.Attachments, id)
		}
	}
}

// repeats reports whether some object of a JSON text has a name twice.
func repeats(raw []byte) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	var open []map[string]bool // nil for a list
	isName := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) || err != nil {
			return false
		}
		switch v := token.(type) {
		case json.Delim:
			switch v {
			case '{':
				open = append(open, map[string]bool{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
			isName = len(open) > 0 && open[len(open)-1] != nil
			continue
		case string:
			if isName {
				if seen := open[len(open)-1]; seen[v] {
					return true
				} else {
					seen[v] = true
				}
				isName = false
				continue
			}
		}
		isName = len(open) > 0 && open[len(open)-1] != nil
	}
}

// FuzzParse holds Parse to encoding/json. Where a name comes twice, a
// first value of the wrong type is a fault for one of them only.
func FuzzParse(f *testing.F) {
	for _, raw := range frames {
		f.Add([]byte(raw))
	}
	for _, raw := range []string{
		`{"account":"+1","exception":{}}`,
		`{"envelope":{"dataMessage":{"message":"\ud800\udc00\udc00\ud800\u0041"}}}`,
		`{"envelope":{"dataMessage":{"mess\u0061ge":"a","attachments":[{"id":"\n"},null,{"id":7}]}}}`,
		`{"envelope":{"editMessage":{},"receiptMessage":{"timestamps":[null,-0,1e9]}}}`,
		"{\"acc\xffount\":1,\"account\":\"\xff\\u0022\",\"error\":\"x\"} ",
		`{"Account":"A","envelope":{"DATAMESSAGE":{},"x":[1.5E-7,-0.0,{"y":[true,false,null]}]}}`,
		`[{}]`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := envelope.Parse(raw)
		if err != nil && (!errors.Is(err, envelope.ErrFrame) || !reflect.DeepEqual(got, envelope.Message{})) {
			t.Errorf("%+v, %v", got, err)
		}
		if deep := bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) > 1000; deep || err != nil && repeats(raw) {
			return
		}
		want, wrong := reference(raw)
		if (wrong != nil) != (err != nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v, %v", raw, got, err, want, wrong)
		}
	})
}
