package people_test

import (
	encoding "encoding/json"
	"testing"
)

// json is how a record has some bytes.
func json(b []byte) ([]byte, error) { return encoding.Marshal(b) }

// Whatever stands in a journal, the book refuses it or works with it, and its own
// account can be read back.
func FuzzApply(f *testing.F) {
	const salt, mark = `{"salt":"AAECAwQFBgcICQoLDA0ODw=="}`, `"m":"AAECAwQFBgcICQoLDA0ODw=="`
	for _, seed := range [][3]string{
		{salt, `{` + mark + `,"n":7}`, `{` + mark + `,"gone":true,"e":1}`},
		{salt, `{` + mark + `,"out":true,"e":1}`, `{` + mark + `,"in":true}`},
		{`{` + mark + `,"n":7}`, salt, `{"salt":"AAEC"}`},
		{salt, `{"m":"AA==","n":9223372036854775807}`, `{` + mark + `,"e":9223372036854775807}`},
		{`null`, `[]`, `{"salt":"AAECAwQFBgcICQoLDA0ODw==","e":-1}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]), []byte(seed[2]))
	}
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		p := inMemory()
		for _, data := range [][]byte{a, b, c} {
			_ = p.Apply(data)
		}
		before := p.Uses(ala)
		if n, _ := p.Count(ala); n != before+1 && !p.OptedOut(ala) {
			t.Errorf("%d uses, and %d with one more", before, n)
		}
		again := inMemory()
		if err := p.Dump(again.Apply); err != nil {
			t.Fatalf("its own account: %v", err)
		}
		if !p.Sound() || !again.Sound() || p.Len() != again.Len() || p.Out() != again.Out() || p.Uses(ala) != again.Uses(ala) {
			t.Errorf("%d people and %d out are %d and %d", p.Len(), p.Out(), again.Len(), again.Out())
		}
	})
}
