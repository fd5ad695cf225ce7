package envelope_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"quartet/services/botd/internal/envelope"
)

// Whatever stood under a name before is forgotten, in each object.
func TestOfANameThatComesTwiceTheLastValueCounts(t *testing.T) {
	const data = `{"timestamp":3,"message":"old","mentions":[{"uuid":"old"}],"attachments":[{"id":"old"}],"groupInfo":{"groupId":"old","groupName":"old","type":"UPDATE"},"remoteDelete":{"timestamp":3}}`
	const edit = `{"targetSentTimestamp":3,"dataMessage":` + data + `}`
	sent := `{"destination":"old","destinationNumber":"old","destinationUuid":"old","editMessage":` + edit + `,` + data[1:]
	old := map[string]string{
		"account": `"old"`, "sourceUuid": `"old"`, "sourceNumber": `"old"`, "sourceName": `"old"`, "sourceDevice": `3`, "timestamp": `3`, "message": `"old"`,
		"dataMessage": data, "editMessage": edit, "syncMessage": `{"sentMessage":` + sent + `}`, "sentMessage": sent,
		"receiptMessage": `{"timestamps":[3]}`, "timestamps": `[3]`,
		"mentions": `[{"uuid":"old","number":"old","start":3,"length":3}]`, "attachments": `[{"id":"old"}]`, "id": `"old"`, "uuid": `"old"`, "start": `3`,
		"groupInfo": `{"groupId":"old","groupName":"old","type":"UPDATE"}`, "remoteDelete": `{"timestamp":3}`, "exception": `{}`,
		"envelope": `{"sourceUuid":"old","sourceNumber":"old","sourceName":"old","sourceDevice":3,"timestamp":3,"typingMessage":{},"dataMessage":` + data + `}`,
	}
	for kind, raw := range frames {
		want, err := envelope.Parse([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range old {
			twice := strings.ReplaceAll(raw, `"`+name+`":`, `"`+name+`":`+value+`,"`+name+`":`)
			if got, err := envelope.Parse([]byte(twice)); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s of %s: %+v, %v", name, kind, got, err)
			}
		}
	}
	for around, names := range map[string]string{
		`{"envelope":{%s}}`:                      "dataMessage editMessage syncMessage receiptMessage",
		`{"envelope":{"dataMessage":{%s}}}`:      "groupInfo remoteDelete mentions attachments",
		`{"envelope":{"syncMessage":{%s}}}`:      "sentMessage",
		`{"envelope":{"receiptMessage":{%s}}}`:   "timestamps",
		`{"envelope":{"editMessage":{%s}}}`:      "dataMessage",
		`{"error":"x","envelope":{},"x":"y",%s}`: "envelope",
	} {
		for _, name := range strings.Fields(names) {
			for _, empty := range []string{"null", old[name][:1] + old[name][len(old[name])-1:]} {
				last := `"` + name + `":` + empty
				want, err := envelope.Parse([]byte(fmt.Sprintf(around, last)))
				if err != nil {
					t.Fatal(err)
				}
				if got, err := envelope.Parse([]byte(fmt.Sprintf(around, `"`+name+`":`+old[name]+`,`+last))); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s, then %s: %+v, %v", name, empty, got, err)
				}
			}
		}
	}
}

// Strings are looked at eight bytes at a time; no byte slips through, wherever
// it stands.
func TestEveryByteOfAStringCounts(t *testing.T) {
	for c := range 256 {
		for before := range 20 {
			raw := `{"envelope":{"x":"` + strings.Repeat("a", before) + string([]byte{byte(c)}) + `é bcdefghij"}}`
			if _, err := envelope.Parse([]byte(raw)); (err == nil) != json.Valid([]byte(raw)) {
				t.Errorf("byte %#x behind %d others: %v", c, before, err)
			}
		}
	}
}
