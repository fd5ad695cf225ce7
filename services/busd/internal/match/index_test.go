package match_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"quartet/services/busd/internal/match"
	"quartet/services/busd/internal/wire"
)

// newIndex returns an index in which owner i has the i-th rule.
func newIndex(t testing.TB, rules ...string) *match.Index[int] {
	t.Helper()
	x := &match.Index[int]{}
	for i, r := range rules {
		x.Add(i, parse(t, r))
	}
	return x
}

// find returns the owners found, sorted, each once.
func find(x *match.Index[int], m *match.Message) (owners []int) {
	x.Find(m, func(o int) { owners = append(owners, o) })
	slices.Sort(owners)
	return slices.Compact(owners)
}

func TestRulesAreCountedPerAddition(t *testing.T) {
	var x match.Index[int]
	zz, quoted := parse(t, "member=zz"), parse(t, "member='zz'")
	m := signal()
	m.member = "zz"
	x.Add(1, zz)
	x.Add(1, quoted)
	if x.Count(1) != 2 || x.Len() != 2 || len(x.Rules(1)) != 2 {
		t.Fatalf("two additions count %d, all %d, list %v", x.Count(1), x.Len(), x.Rules(1))
	}
	if !x.Remove(1, quoted) || len(find(&x, m.bus())) != 1 {
		t.Fatal("one of two instances was removed, and the other does not match any more")
	}
	if !x.Remove(1, zz) || len(find(&x, m.bus())) != 0 {
		t.Fatal("both instances were removed, and the rule still matches")
	}
	if x.Remove(1, zz) {
		t.Fatal("a third instance was removed")
	}
	if !x.IsEmpty() {
		t.Fatal("something is left")
	}
}

func TestRemoveWantsTheOwnersOwnRule(t *testing.T) {
	x := newIndex(t, "member='M'", "member='N'")
	if x.Remove(1, parse(t, "member='M'")) || x.Remove(7, parse(t, "member='M'")) {
		t.Error("somebody else's rule was removed")
	}
}

func TestRulesAreListedInOrder(t *testing.T) {
	var x match.Index[int]
	for _, text := range []string{"type=signal", "member=M", "type=signal", "destination=a.b"} {
		x.Add(1, parse(t, text))
	}
	want := "[destination='a.b' member='M' type='signal' type='signal']"
	if got := fmt.Sprint(x.Rules(1)); got != want {
		t.Errorf("rules are %s, want %s", got, want)
	}
	if x.Rules(2) != nil {
		t.Error("nobody's rules are listed")
	}
}

func TestAMonitorsRuleEavesdropsWithoutSayingSo(t *testing.T) {
	r := parse(t, "destination='a.b'")
	r.Eavesdrop = true
	if want := "destination='a.b',eavesdrop='true'"; r.String() != want || r != parse(t, want) {
		t.Errorf("the rule is %s, want %s", r, want)
	}
}

func TestForgetDropsRulesAboutAConnection(t *testing.T) {
	x := newIndex(t, "sender=':1.5'", "destination=':1.5'", "destination=':1.5',sender=':1.5',eavesdrop=true",
		"sender=':1.55'", "sender='org.example.Time'")
	x.Add(0, parse(t, "sender=':1.5'"))
	x.Forget(":1.5")
	x.Forget(":1.6")
	if x.Len() != 2 || x.Count(0)+x.Count(1)+x.Count(2) != 0 {
		t.Errorf("%d rules are left, want 2", x.Len())
	}
	if x.Eavesdrops() {
		t.Error("the only rule that eavesdropped is forgotten, and still counts")
	}
	if x.Remove(0, parse(t, "sender=':1.5'")) {
		t.Error("a forgotten rule was removed")
	}
	x.RemoveAll(3)
	x.RemoveAll(4)
	if !x.IsEmpty() {
		t.Error("something is left")
	}
}

// foreign returns the i-th of many rules that differ in the key of that name.
func foreign(key string, i int) string {
	const common = "type='signal',interface='org.example.Clock',member='Tick'"
	switch key {
	case "path", "path_namespace":
		return fmt.Sprintf("%s,%s='/org/other/x%d'", common, key, i)
	case "member":
		return fmt.Sprintf("type='signal',interface='org.example.Clock',member='Tock%d'", i)
	case "interface":
		return fmt.Sprintf("type='signal',interface='org.other.X%d',member='Tick'", i)
	case "sender":
		return fmt.Sprintf("%s,sender=':2.%d'", common, i)
	case "owner":
		return fmt.Sprintf("%s,sender='org.other.X%d'", common, i)
	case "destination":
		return fmt.Sprintf("%s,destination=':2.%d'", common, i)
	case "arg0path":
		return fmt.Sprintf("%s,arg0path='/org/other/x%d/'", common, i)
	}
	return fmt.Sprintf("%s,%s='org.other.X%d'", common, key, i)
}

var foreignKeys = []string{
	"path", "path_namespace", "member", "interface", "sender", "owner", "destination",
	"arg0", "arg1", "arg3", "arg0path", "arg0namespace",
}

func TestRulesThatDifferInOneKeyLieApart(t *testing.T) {
	for _, key := range foreignKeys {
		t.Run(key, func(t *testing.T) {
			var x match.Index[int]
			for i := range 1000 {
				x.Add(i%20, parse(t, foreign(key, i)))
			}
			if x.Tables() > 1 || x.Longest() > 1 {
				t.Errorf("1000 rules lie in %d tables and up to %d under one key", x.Tables(), x.Longest())
			}
			for i := range 20 {
				x.RemoveAll(i)
			}
			if !x.IsEmpty() {
				t.Error("something is left")
			}
		})
	}
}

func TestEqualRulesOfManyShareANode(t *testing.T) {
	var x match.Index[int]
	for i := range 1000 {
		x.Add(i, parse(t, "type='signal',interface='org.example.Clock'"))
	}
	if got := len(find(&x, signal().bus())); got != 1000 || x.Longest() != 1 {
		t.Errorf("%d found in a list of %d, want 1000 in a list of 1", got, x.Longest())
	}
}

// TestRulesThatShareAKeyAreAllFound has more of them than Add compares.
func TestRulesThatShareAKeyAreAllFound(t *testing.T) {
	var x match.Index[int]
	for i := range 60 {
		for owner := range 2 {
			x.Add(owner, parse(t, fmt.Sprintf("arg%dpath='/'", i+1)))
		}
	}
	m := signal()
	for range 64 {
		m.args = append(m.args, arg{"s", "/x"})
	}
	visits := 0
	x.Find(m.bus(), func(int) { visits++ })
	if visits != 120 {
		t.Errorf("%d visits, want 120", visits)
	}
	for i := range 60 {
		if r := parse(t, fmt.Sprintf("arg%dpath='/'", i+1)); !x.Remove(0, r) || !x.Remove(1, r) {
			t.Fatalf("rule %d was not there", i)
		}
	}
	if !x.IsEmpty() {
		t.Error("something is left")
	}
}

func TestFindAllocatesNothing(t *testing.T) {
	x := &match.Index[int]{}
	for i, key := range foreignKeys {
		for j := range 10 {
			x.Add(i, parse(t, foreign(key, j)))
		}
	}
	for i := range 20 {
		x.Add(100+i, parse(t, "type='signal',sender='org.example.Time',path_namespace='/org',arg2='x'"))
	}
	m := signal(arg{"s", "/aa/bb.cc/dd"}, arg{"u", ""}, arg{"s", "x"}).bus()
	found := 0
	visit := func(int) { found++ }
	x.Find(m, visit)
	if found != 20 {
		t.Fatalf("found %d, want 20", found)
	}
	if n := testing.AllocsPerRun(100, func() { x.Find(m, visit) }); n != 0 {
		t.Errorf("Find allocates %v times", n)
	}
}

func TestARuleTakesLessThan300Bytes(t *testing.T) {
	const rules = 20000
	before := heap()
	x := &match.Index[*int]{}
	owners := make([]int, 20)
	for i := range rules {
		r := parse(t, fmt.Sprintf("type='signal',interface='org.busbench.Bench',member='Tick',path='/org/other/x%d_%d'", i%20, i/20))
		x.Add(&owners[i%20], r)
	}
	each := (heap() - before) / rules
	t.Logf("%d bytes a rule", each)
	if each >= 300 {
		t.Errorf("a rule takes %d bytes", each)
	}
	runtime.KeepAlive(x)
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

func TestFindLetsGoOfTheMessage(t *testing.T) {
	x := newIndex(t, "arg0='x'", "sender='org.example.Time'")
	m := signal(arg{"s", "x"}).bus()
	calls := 0
	args := m.Args
	m.Args = func() wire.Args { calls++; return args() }
	for range 2 {
		if got := find(x, m); len(got) != 2 {
			t.Fatalf("found %v, want both", got)
		}
	}
	if calls != 2 {
		t.Errorf("arguments were read %d times in two searches", calls)
	}
}
