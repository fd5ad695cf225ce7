package sasl_test

import (
	"testing"

	"quartet/services/busd/internal/sasl"
)

// TestExternalAllocatesTheServerAlone: authentication is a part of each
// connect.
func TestExternalAllocatesTheServerAlone(t *testing.T) {
	in, out := []byte(clients[0].pieces[0]), make([]byte, 0, 256)
	allocations := testing.AllocsPerRun(100, func() {
		if _, _, done, err := sasl.New(user).Feed(in, out); !done || err != nil {
			t.Fatal(done, err)
		}
	})
	if allocations > 1 {
		t.Errorf("%v allocations, want 1", allocations)
	}
}

func BenchmarkExternalPipelined(b *testing.B) {
	in, out := []byte(clients[0].pieces[0]), make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		sasl.New(user).Feed(in, out)
	}
}
