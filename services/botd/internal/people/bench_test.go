package people_test

import "testing"

func BenchmarkCount(b *testing.B) {
	p := inMemory()
	b.ReportAllocs()
	for b.Loop() {
		p.Count(ala)
	}
}

func BenchmarkOptedOut(b *testing.B) {
	p := inMemory()
	_ = p.OptOut(ela)
	b.ReportAllocs()
	for b.Loop() {
		p.OptedOut(ala)
	}
}
