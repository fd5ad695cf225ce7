package match_test

import (
	"fmt"
	"testing"

	"quartet/services/busd/internal/match"
)

func BenchmarkFindPastForeignRules(b *testing.B) {
	for _, key := range foreignKeys {
		for n := 1; n <= 1<<18; n *= 64 {
			b.Run(fmt.Sprintf("%s/%d", key, n), func(b *testing.B) {
				x := &match.Index[int]{}
				for i := range n {
					x.Add(i%20, parse(b, foreign(key, i)))
				}
				x.Add(99, parse(b, "type='signal',interface='org.example.Clock'"))
				benchmarkFind(b, x, signal(arg{"s", "org.example.Time"}, arg{"s", "x"}, arg{"s", "y"}, arg{"s", "z"}), 1)
			})
		}
	}
}

func BenchmarkFindSubscribers(b *testing.B) {
	for _, n := range []int{1, 20, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := &match.Index[int]{}
			for i := range n {
				x.Add(i, parse(b, "type='signal',interface='org.example.Clock',member='Tick',path='/org/example/clock'"))
			}
			benchmarkFind(b, x, signal(arg{"s", "x"}), n)
		})
	}
}

func BenchmarkFindWatchersOfOneName(b *testing.B) {
	for _, n := range []int{1, 1000, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := &match.Index[int]{}
			for i := range n {
				x.Add(i, parse(b, fmt.Sprintf("type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"+
					"interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.example.X%d'", i)))
			}
			m := signal(arg{"s", "org.example.X0"}, arg{"s", ""}, arg{"s", ":1.1"})
			m.sender, m.senderNames = "org.freedesktop.DBus", nil
			m.path, m.iface, m.member = "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged"
			benchmarkFind(b, x, m, 1)
		})
	}
}

// benchmarkFind searches for m, which want rules match.
func benchmarkFind(b *testing.B, x *match.Index[int], m *message, want int) {
	bus := m.bus()
	found := 0
	visit := func(int) { found++ }
	b.ReportAllocs()
	for b.Loop() {
		found = 0
		x.Find(bus, visit)
	}
	if found != want {
		b.Fatalf("found %d, want %d", found, want)
	}
}

func BenchmarkAddRemove(b *testing.B) {
	for _, n := range []int{1, 50000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := &match.Index[int]{}
			for i := range n {
				x.Add(1, parse(b, foreign("path", i)))
			}
			b.ReportAllocs()
			for b.Loop() {
				r := parse(b, foreign("path", n))
				x.Add(1, r)
				x.Remove(1, r)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		parse(b, "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.example.X'")
	}
}
