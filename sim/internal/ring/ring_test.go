package ring_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"quartet/sim/internal/ring"
)

func add(r *ring.Ring[string], texts ...string) {
	for _, text := range texts {
		r.Add(func(uint64) string { return text })
	}
}

func length(s string) int64 { return int64(len(s)) }

func TestTheOldestGoWhenTheCountIsReached(t *testing.T) {
	r := ring.New(3, 1<<20, length)
	add(r, "a", "b", "c", "d", "e")
	got, next := r.Since(0, 0)
	if !slices.Equal(got, []string{"c", "d", "e"}) || next != 5 {
		t.Errorf("got %v, next %d", got, next)
	}
}

func TestTheOldestGoWhenTheBytesAreReached(t *testing.T) {
	r := ring.New(100, 10, length)
	add(r, "aaaa", "bbbb", "cccc")
	if got, _ := r.Since(0, 0); !slices.Equal(got, []string{"bbbb", "cccc"}) {
		t.Errorf("got %v", got)
	}
	add(r, "a single one far above the bound")
	if got, _ := r.Since(0, 0); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestSinceGoesOnWhereItStopped(t *testing.T) {
	r := ring.New(1000, 1<<20, length)
	var want, got []string
	for i := range 700 {
		text := string(rune('a' + i%26))
		want = append(want, text)
		add(r, text)
	}
	for after := uint64(0); ; {
		part, next := r.Since(after, 64)
		if len(part) == 0 {
			break
		}
		got, after = append(got, part...), next
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %d entries, want %d", len(got), len(want))
	}
}

func TestManyAddsStayWithinTheBounds(t *testing.T) {
	r := ring.New(10, 1<<20, length)
	for range 10_000 {
		add(r, "x")
	}
	if got, next := r.Since(0, 0); len(got) != 10 || next != 10_000 {
		t.Errorf("%d entries, next %d", len(got), next)
	}
}

func TestWaitEndsWithTheNextEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ring.New(10, 1<<20, length)
		go func() {
			time.Sleep(time.Second)
			add(r, "x")
		}()
		began := time.Now()
		if err := r.Wait(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("waited %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Wait(ctx, 1); err == nil {
			t.Error("waited for an entry that is there")
		}
	})
}

func TestNumbersGoOnAfterClear(t *testing.T) {
	r := ring.New(10, 1<<20, length)
	add(r, "a", "b")
	r.Clear()
	if got, next := r.Since(0, 0); len(got) != 0 || next != 2 {
		t.Errorf("got %v, next %d", got, next)
	}
	add(r, "c")
	if got, next := r.Since(2, 0); !slices.Equal(got, []string{"c"}) || next != 3 {
		t.Errorf("got %v, next %d", got, next)
	}
}
