package transport_test

import (
	"encoding/json"
	"strings"
	"testing"

	"quartet/services/botd/internal/transport"
)

const envelope = `{"account":"+15550100000","envelope":{"sourceUuid":"11111111-1111-4111-8111-111111111111","timestamp":1,"dataMessage":{"message":"a \"}{\\"}}}`

func TestAFrameIsTakenOutOfItsNotification(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       string
		subscribed bool
	}{
		{"unasked", `{"jsonrpc":"2.0","method":"receive","params":` + envelope + `}`, envelope, false},
		{"by subscription", `{"jsonrpc":"2.0","method":"receive","params":{"subscription":0,"result":` + envelope + `}}`, envelope, true},
		{"with blanks, in another order", " {\t\"params\" : { \"result\" :" + envelope + " , \"subscription\":7 }\r\n, \"method\":\"receive\"} \n", envelope, true},
		{"with an escaped key", `{"m\u0065thod":"receive","params":` + envelope + `}`, envelope, false},
		{"only an exception", `{"method":"receive","params":{"account":"+1","exception":{"message":"x"}}}`, `{"account":"+1","exception":{"message":"x"}}`, false},
		{"an error", `{"method":"receive","error":{"code":-32603,"message":"bad \"thing\""}}`, `{"error":"bad \"thing\""}`, false},
	} {
		l, err := transport.ParseLine([]byte(c.line))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if raw, subscribed, ok := l.Frame(); !ok || string(raw) != c.want || subscribed != c.subscribed {
			t.Errorf("%s: %s, %v, %v", c.name, raw, subscribed, ok)
		}
	}
}

func TestWhatIsNoFrameIsNotTakenForOne(t *testing.T) {
	for _, line := range []string{
		`{}`,
		`{"method":"receive"}`,
		`{"method":"receive","params":null}`,
		`{"method":"receive","params":{}}`,
		`{"method":"receive","params":[1]}`,
		`{"method":"receive","params":"x"}`,
		`{"method":"receive","params":{"subscription":0}}`,
		`{"method":"receive","params":{"subscription":0,"result":7}}`,
		`{"method":"receive","params":{"subscription":0,"result":{"x":1}}}`,
		`{"method":"receive","params":{"account":null,"envelope":null}`,
		`{"method":"callEvent","params":` + envelope + `}`,
		`{"id":"1","result":` + envelope + `}`,
		envelope,
	} {
		l, err := transport.ParseLine([]byte(line))
		if raw, _, ok := l.Frame(); err == nil && ok {
			t.Errorf("%s: %s", line, raw)
		}
	}
}

func TestBrokenLinesAreRefused(t *testing.T) {
	for _, line := range []string{
		"", " ", "x", "[]", `"x"`, "{", "}", `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`,
		`{"a":"x}`, `{"a":{}`, `{"a":1}}`, `{"a":1} {}`, `{a:1}`, `{"a":tr"ue}`, `{"a\x":1}`, `{"a":1,,"b":2}`,
	} {
		if l, err := transport.ParseLine([]byte(line)); err == nil {
			t.Errorf("%s: %+v", line, l)
		}
	}
}

func TestTheLastOfTwoKeysCountsAndNullIsNothing(t *testing.T) {
	l, err := transport.ParseLine([]byte(`{"id":1,"id":2,"error":null,"result":5,"result":null}`))
	if err != nil || string(l.ID) != "2" || l.Error != nil || l.Result != nil {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestTakingALineApartAllocatesNothing(t *testing.T) {
	line := []byte(`{"jsonrpc":"2.0","method":"receive","params":{"subscription":0,"result":` + envelope + `}}`)
	if n := testing.AllocsPerRun(100, func() {
		l, err := transport.ParseLine(line)
		if _, _, ok := l.Frame(); err != nil || !ok {
			t.Error("no frame")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzParseLine holds the parser to encoding/json: whatever that takes for an
// object is taken apart in the same way.
func FuzzParseLine(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","method":"receive","params":{"subscription":0,"result":` + envelope + `}}`)
	f.Add(`{"jsonrpc":"2.0","id":"7","error":{"code":-5,"message":"x","data":{"response":{"results":[]}}}}`)
	f.Add(`{"id":1,"id":null,"\u0069d":2}`)
	f.Add(`{"params":[{"a":"]"},"\\\""],"result":-1e9}`)
	f.Add(`{"method":"receive","error":{"message":1}}`)
	f.Add(`{"id":,}`)
	f.Fuzz(func(t *testing.T, line string) {
		l, err := transport.ParseLine([]byte(line))
		raw, _, ok := l.Frame()
		if err == nil && ok && !strings.HasPrefix(string(raw), "{") {
			t.Errorf("a frame that is no object: %s", raw)
		}
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(line), &want) != nil || want == nil {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for key, got := range map[string][]byte{"id": l.ID, "method": l.Method, "params": l.Params, "result": l.Result, "error": l.Error} {
			text := string(want[key])
			if text == "null" {
				text = ""
			}
			if string(got) != text {
				t.Errorf("%s: %s is %q, want %q", line, key, got, text)
			}
		}
	})
}

func BenchmarkFrame(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","method":"receive","params":{"subscription":0,"result":` +
		strings.Replace(envelope, `"message":"`, `"message":"`+strings.Repeat("x", 300), 1) + `}}`)
	b.Run("Line", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l, err := transport.ParseLine(line)
			if _, _, ok := l.Frame(); err != nil || !ok {
				b.Fatal("no frame")
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var l struct {
				Method string
				Params struct {
					Subscription *int
					Result       json.RawMessage
				}
			}
			if json.Unmarshal(line, &l) != nil || l.Params.Result == nil {
				b.Fatal("no frame")
			}
		}
	})
}
