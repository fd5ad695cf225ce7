package spill_test

import (
	"fmt"
	"testing"

	"quartet/services/botd/internal/spill"
)

// What can be read is written as something that reads the same.
func FuzzDecode(f *testing.F) {
	for _, m := range []int{0, 1, 1 << 40} {
		raw, err := spill.Encode(message(m), at(m))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"at":-1,"m":{"Text":"\ud800","Mentions":[{"Start":-1}],"Attachments":[""],"Receipt":{"Timestamps":[0]}}}`))
	f.Add([]byte(`{"at":1}`))
	f.Add([]byte(`{"m":null}`))
	f.Add([]byte(`[1]`))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		taken, err := spill.Decode(raw)
		if err != nil {
			return
		}
		raw, err = spill.Encode(&taken.Message, taken.At)
		must(t, err)
		again, err := spill.Decode(raw)
		must(t, err)
		if fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", taken) { // none and an empty list are one
			t.Errorf("%+v, written as %s, is read as %+v", taken, raw, again)
		}
	})
}
