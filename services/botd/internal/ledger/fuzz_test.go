package ledger_test

import (
	"fmt"
	"testing"

	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/store"
)

// Whatever records are read: what is remembered fits together, and the account
// of it is read as the same.
func FuzzApply(f *testing.F) {
	f.Add([]byte(`{"k":{"s":"a","d":1,"t":5},"s":"waiting","at":7,"m":{"Text":"!ja"}}`), []byte(`{"k":{"s":"a","d":1,"t":5},"s":"in_flight","b":9}`))
	f.Add([]byte(`{"k":{"s":"a","d":1,"t":5,"e":true},"s":"waiting","at":7,"sp":true}`), []byte(`{"k":{"s":"a","d":1,"t":5,"e":true},"s":"waiting","m":{}}`))
	f.Add([]byte(`{"k":{"s":"a","t":5,"e":true},"s":"dropped","at":7,"of":3}`), []byte(`{"k":{"s":"a","t":3},"s":"unknown","at":-8}`))
	f.Add([]byte(`{"k":{"d":4294967297},"s":"sent","at":1}`), []byte(`{"k":{"d":1},"s":"failed","at":1}`))
	f.Add([]byte(`{"k":{"s":"a","t":5},"s":"waiting","at":7,"m":{"Text":"!ja"}}`), []byte(`{"k":{"s":"a","t":5},"s":"dropped","n":true}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		l := ledger.New(store.New(nil, store.Options{}))
		for _, raw := range [][]byte{first, second, first} {
			_ = l.Apply(raw)
		}
		must(t, l.Recover())
		again := ledger.New(store.New(nil, store.Options{}))
		must(t, l.Dump(again.Apply))
		for _, fault := range append(ledger.Check(l), ledger.Check(again)...) {
			t.Error(fault)
		}
		if a, b := account(t, l), account(t, again); a != b {
			t.Errorf("%s is read as %s", a, b)
		}
	})
}

// account is what a ledger says that it knows.
func account(t *testing.T, l *ledger.Ledger) (all string) {
	t.Helper()
	must(t, l.Dump(func(data []byte) error {
		all += fmt.Sprintln(string(data))
		return nil
	}))
	return all
}
