package bot_test

import (
	"strings"
	"testing"
	"time"

	"quartet/services/botd/internal/bot"
)

// What one frame costs the reader: it is the only goroutine that reads, and
// must be faster than any server writes.
func BenchmarkTriage(b *testing.B) {
	frame := func(text string) []byte {
		return []byte(`{"account":"` + number + `","envelope":{"source":"11111111-1111-4111-8111-111111111111","sourceNumber":null,` +
			`"sourceUuid":"11111111-1111-4111-8111-111111111111","sourceName":"Ala","sourceDevice":2,"timestamp":1700000000001,` +
			`"serverReceivedTimestamp":1700000000100,"serverDeliveredTimestamp":1700000000101,"dataMessage":{"timestamp":1700000000001,` +
			`"message":"` + text + `","expiresInSeconds":0,"isExpirationUpdate":false,"viewOnce":false,` +
			`"groupInfo":{"groupId":"` + groupID + `","groupName":"g","revision":1,"type":"DELIVER"}}}}`)
	}
	for name, raw := range map[string][]byte{
		"command": frame("!echo miau"),
		"chatter": frame(strings.Repeat("nie mam kota ", 20)),
		"receipt": []byte(`{"account":"` + number + `","envelope":{"sourceUuid":"u","timestamp":1,"receiptMessage":{"when":1,"isDelivery":true,"timestamps":[1,2,3]}}}`),
	} {
		b.Run(name, func(b *testing.B) {
			idle := bot.NewIdle(b, number, echo())
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			now := time.Now()
			for b.Loop() {
				if idle.Triage(raw, now) != (name == "command") {
					b.Fatal("taken for what it is not")
				}
			}
		})
	}
}
