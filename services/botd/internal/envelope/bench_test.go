package envelope_test

import (
	"encoding/json"
	"testing"

	"quartet/services/botd/internal/envelope"
)

// partial is what encoding/json is given beside Parse: as few fields as the
// answer to a command needs.
type partial struct {
	Account  string `json:"account"`
	Envelope *struct {
		Source       string `json:"source"`
		SourceNumber string `json:"sourceNumber"`
		SourceUUID   string `json:"sourceUuid"`
		SourceName   string `json:"sourceName"`
		SourceDevice int    `json:"sourceDevice"`
		Timestamp    int64  `json:"timestamp"`
		Received     int64  `json:"serverReceivedTimestamp"`
		Data         *struct {
			Timestamp int64  `json:"timestamp"`
			Message   string `json:"message"`
			Mentions  []struct {
				UUID   string `json:"uuid"`
				Number string `json:"number"`
				Start  int    `json:"start"`
				Length int    `json:"length"`
			} `json:"mentions"`
			Group *struct {
				ID   string `json:"groupId"`
				Name string `json:"groupName"`
				Type string `json:"type"`
			} `json:"groupInfo"`
		} `json:"dataMessage"`
		Sync    *struct{} `json:"syncMessage"`
		Receipt *struct{} `json:"receiptMessage"`
		Typing  *struct{} `json:"typingMessage"`
	} `json:"envelope"`
}

// command is a command in a group, about 550 bytes.
var command = from(`"timestamp":1700000000001,"serverReceivedTimestamp":1700000000100,"serverDeliveredTimestamp":1700000000101,"dataMessage":{"timestamp":1700000000001,"message":"!obraz rudy kot na płocie","expiresInSeconds":0,"isExpirationUpdate":false,"viewOnce":false,"groupInfo":{"groupId":"` + groupID + `","groupName":"Koty z podwórka","revision":17,"type":"DELIVER"}}`)

func BenchmarkFrame(b *testing.B) {
	for _, c := range []struct{ name, raw string }{
		{"command", command},
		{"typing", frames["typing"]},
		{"receipt", frames["receipt"]},
		{"sync", frames["sync"]},
	} {
		raw := []byte(c.raw)
		b.Run(c.name+"/Parse", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := envelope.Parse(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/encoding-json", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				var p partial
				if err := json.Unmarshal(raw, &p); err != nil || p.Envelope == nil {
					b.Fatal(err)
				}
			}
		})
	}
}
