package cooldown_test

import (
	"fmt"
	"testing"

	"quartet/services/botd/internal/cooldown"
)

var everyLimit = cooldown.Limits{User: 5 * s, UserGroup: 5 * s, Group: s, Command: s, Global: s}

func TestReserveAllocatesTheReservation(t *testing.T) {
	g, now := inMemory(), start
	if n := testing.AllocsPerRun(100, func() {
		now = now.Add(5 * s)
		pass(t, g, kot, everyLimit, now)
	}); n > 1 {
		t.Errorf("a use of somebody known has %v allocations", n)
	}
	refusals := testing.AllocsPerRun(100, func() { g.Reserve(kot, everyLimit, now) })
	if refusals > 0 {
		t.Errorf("a refusal has %v allocations", refusals)
	}
}

func BenchmarkReserve(b *testing.B) {
	for name, l := range map[string]cooldown.Limits{"one": {User: 5 * s}, "five": everyLimit} {
		b.Run(name, func(b *testing.B) {
			g, now := inMemory(), start
			people := make([]cooldown.Use, 1000)
			for i := range people {
				people[i] = use(fmt.Sprintf("%036d", i), fmt.Sprintf("%044d", i%50), "kot")
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				now = now.Add(s)
				g.Reserve(people[i%len(people)], l, now)
			}
		})
	}
}

func BenchmarkRefuse(b *testing.B) {
	g := inMemory()
	g.Reserve(kot, everyLimit, start)
	b.ReportAllocs()
	for b.Loop() {
		g.Reserve(kot, everyLimit, start)
	}
}

func BenchmarkRecords(b *testing.B) {
	g := inMemory()
	r, _, _ := g.Reserve(kot, cooldown.Limits{User: 5 * s}, start)
	b.ReportAllocs()
	for b.Loop() {
		r.Records(start)
	}
}
