package cooldown_test

import (
	"testing"
	"time"

	"quartet/services/botd/internal/cooldown"
)

// Whatever stands in a journal, the gate refuses it or works with it: no wait is
// longer than its limit, and its own account can be read back.
func FuzzApply(f *testing.F) {
	f.Add([]byte(`{"s":1,"p":"ala","c":"kot","n":1,"at":1700000000000000000,"d":5000000000}`),
		[]byte(`{"s":1,"p":"ala","c":"kot","n":1,"x":true}`))
	f.Add([]byte(`{"s":5,"n":2,"at":9223372036854775807,"d":9223372036854775807}`), []byte(`{"s":9}`))
	f.Add([]byte(`{"s":3,"g":"cats","c":"kot","n":4611686018427387904,"at":-1,"d":-1}`), []byte(`null`))
	f.Add([]byte(`{"s":4,"c":"kot","n":1,"at":0,"d":1}`), []byte(`{"s":4,"c":"kot","n":9,"at":8907992036854775000,"d":315360000000000000}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		g := inMemory()
		for _, data := range [][]byte{a, b} {
			if err := g.Apply(data); err == nil && g.Len() == 0 && len(data) == 0 {
				t.Error("nothing is no record")
			}
		}
		l := cooldown.Limits{User: 5 * s, UserGroup: 5 * s, Group: 5 * s, Command: 5 * s, Global: 5 * s}
		const most = 10 * 365 * 24 * time.Hour
		r, refusal, ok := g.Reserve(use("ala", "cats", "kot"), l, start)
		if !ok && (refusal.Wait <= 0 || refusal.Wait > most) {
			t.Errorf("the wait is %v", refusal.Wait)
		}
		r.Records(start)
		if !g.Sound() {
			t.Error("the gate's parts do not agree")
		}
		again := inMemory()
		if err := g.Dump(again.Apply); err != nil {
			t.Errorf("its own account: %v", err)
		}
		if err := g.Tidy(start.Add(most)); err != nil || g.Len() != 0 {
			t.Errorf("%d waits are left, %v", g.Len(), err)
		}
	})
}
