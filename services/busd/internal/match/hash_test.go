package match

import "testing"

// TestHoldingsWithOneHashAreKeptApart chains them by hand: honest hashes of 64
// bits do not collide in a test.
func TestHoldingsWithOneHashAreKeptApart(t *testing.T) {
	a := account[int]{first: map[uint64]*holding[int]{}}
	var rules [3]Rule
	for i := range rules {
		rules[i].kind = 1
		rules[i].text = string(rune('a' + i))
		a.first[7] = &holding[int]{node: &node[int]{rule: rules[i]}, same: a.first[7]}
	}
	for _, i := range []int{1, 2, 0} {
		h := a.find(7, &rules[i])
		if h == nil || h.node.rule != rules[i] {
			t.Fatalf("rule %d is not found", i)
		}
		a.remove(7, h)
		if a.find(7, &rules[i]) != nil {
			t.Fatalf("rule %d is still there", i)
		}
	}
	if len(a.first) != 0 {
		t.Error("something is left")
	}
}
