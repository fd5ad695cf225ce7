package rules_test

import "testing"

// Whatever stands in a journal, the book refuses it or works with it, and its own
// account can be read back.
func FuzzApply(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"op":"allow","g":"cats"}`, `{"op":"forbid","g":"cats"}`},
		{`{"op":"ignore","p":"ala"}`, `{"op":"hear"}`},
		{`{"op":"off","c":"kot","g":"cats"}`, `{"op":"wait","c":"kot","g":"cats","d":-9223372036854775808}`},
		{`{"op":"call","g":"cats"}`, `{"op":"allow","g":"cats"}`},
		{`{"op":"all"}`, `null`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		r := inMemory()
		for _, data := range [][]byte{a, b} {
			_ = r.Apply(data)
		}
		again := inMemory()
		if err := r.Dump(again.Apply); err != nil {
			t.Fatalf("its own account: %v", err)
		}
		if r.Kept() != again.Kept() || !r.Sound() || !again.Sound() {
			t.Errorf("%v are %v", r.Kept(), again.Kept())
		}
		if d, set := r.Limits("kot", cats); d < 0 || !set && d != 0 {
			t.Errorf("the cooldown is %v, set %t", d, set)
		}
	})
}
