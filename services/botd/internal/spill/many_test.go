package spill_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/spill"
)

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestManyMessagesTakeLittleMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 100_000
	o := spill.Options{MaxBytes: 64 << 20}
	s := open(t, disk.OS{}, o)
	before := heap()
	grown := func(where string) {
		t.Helper()
		if grown := heap() - before; grown > 4<<20 {
			t.Errorf("%s: %d bytes of memory", where, grown)
		}
	}
	push(t, s, 0, n)
	grown("all pushed")
	want(t, s, 0, 3*n/4)
	grown("most of them taken")
	must(t, s.Close())
	s = open(t, disk.OS{}, o)
	grown("opened again")
	first := n - s.Len()
	if first > 3*n/4-1 || first < n/4 {
		t.Errorf("it begins with %d", first)
	}
	want(t, s, first, n)
	if s.Stats().Bytes > 16<<20 {
		t.Errorf("%d bytes are taken by nothing", s.Stats().Bytes)
	}
	runtime.KeepAlive(s)
}

// Several push while one takes and the bot is killed: of each person everything
// comes in order, from no later than what was taken.
func TestPushAndNextSideBySide(t *testing.T) {
	const people, each = 4, 2000
	fs := powerloss.New()
	s := open(t, fs, spill.Options{MaxBytes: 4 << 20})
	var pushing sync.WaitGroup
	for p := range people {
		pushing.Go(func() {
			for n := range each {
				m := &envelope.Message{Sender: fmt.Sprint("p", p), Timestamp: int64(n), Text: "!ja"}
				if err := s.Push(m, start); err != nil {
					t.Error(err)
				}
				if n%100 == 0 {
					time.Sleep(rand.N(time.Millisecond))
				}
				if s.Waiting(m.Sender) < 0 || s.Len() < 0 {
					t.Error("fewer than none wait")
				}
			}
		})
	}
	next := map[string]int64{}
	for i := range people * each {
		got, err := s.Next(t.Context())
		must(t, err)
		m := got.Message
		if m.Timestamp != next[m.Sender] {
			t.Fatalf("%s: number %d, want %d", m.Sender, m.Timestamp, next[m.Sender])
		}
		if i%1000 == 500 {
			wantFrom(t, fs.Clone(), next)
		}
		next[m.Sender]++
	}
	pushing.Wait()
	wantWaiting(t, s, 0, nil)
}

// wantFrom opens a disk: everybody's messages begin no later than with these,
// and none is missing.
func wantFrom(t *testing.T, fs disk.FS, first map[string]int64) {
	t.Helper()
	s := open(t, fs, spill.Options{MaxBytes: 4 << 20})
	next := map[string]int64{}
	for s.Len() > 0 {
		got, err := s.Next(t.Context())
		must(t, err)
		m := got.Message
		want, seen := next[m.Sender]
		if !seen && m.Timestamp > first[m.Sender] || seen && m.Timestamp != want {
			t.Fatalf("%s: number %d, taken %d, before it %d", m.Sender, m.Timestamp, first[m.Sender], want-1)
		}
		next[m.Sender] = m.Timestamp + 1
	}
	must(t, s.Close())
}

// Nothing is lost between what goes from the disk because nothing waits and what
// comes at that moment.
func TestWhatComesWhileTheDiskIsClearedStays(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			fs := powerloss.New()
			s := open(t, fs, small())
			const n = 40
			go func() {
				for i := range n {
					time.Sleep(time.Second) // as long as Next waits, give or take a turn
					for range rng.IntN(3) {
						runtime.Gosched()
					}
					if err := s.Push(message(i), at(i)); err != nil {
						t.Error(err)
					}
				}
			}()
			want(t, s, 0, n)
			must(t, s.Close())
		})
	}
}
