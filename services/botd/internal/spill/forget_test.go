package spill_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/spill"
)

// onDisk reports whether a file of the spill has that text.
func onDisk(t *testing.T, fs disk.FS, text string) bool {
	t.Helper()
	names, err := fs.List(dir)
	must(t, err)
	for _, name := range names {
		f, err := fs.Open(filepath.Join(dir, name))
		must(t, err)
		size, err := f.Size()
		must(t, err)
		content := make([]byte, size)
		if _, err := f.ReadAt(content, 0); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		must(t, f.Close())
		if bytes.Contains(content, []byte(text)) {
			return true
		}
	}
	return false
}

// What was taken goes from the disk when nothing waits for a moment, but not
// before it is safe elsewhere. What comes meanwhile stays.
func TestAnEmptySpillIsEmptyOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := powerloss.New()
		o := small()
		safe := make(chan error)
		o.Safe = func(ctx context.Context) error {
			select {
			case err := <-safe:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s := open(t, fs, o)
		push(t, s, 0, 3)
		want(t, s, 0, 3)
		type result struct {
			spill.Taken
			error
		}
		results := make(chan result)
		next := func() {
			taken, err := s.Next(t.Context())
			results <- result{taken, err}
		}
		go next()
		time.Sleep(2 * time.Second)
		if !onDisk(t, fs, "echo 2") {
			t.Error("forgotten before it was safe")
		}
		bad := errors.New("bad disk")
		safe <- bad
		if r := <-results; !errors.Is(r.error, bad) {
			t.Errorf("got %+v", r)
		}
		go next()
		time.Sleep(2 * time.Second)
		safe <- nil
		synctest.Wait()
		if onDisk(t, fs, "echo") || onDisk(t, fs.AfterCrash(rand.New(rand.NewPCG(1, 1))), "echo") {
			t.Error("what was taken is still on the disk")
		}
		push(t, s, 3, 4)
		if r := <-results; r.error != nil || r.Message.Timestamp != 3 {
			t.Errorf("got %+v", r)
		}
		must(t, s.Close())
		want(t, open(t, fs.Clone(), o), 3, 4)
	})
}

// However often it is emptied, it is one small file then.
func TestRepeatedUseLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := powerloss.New()
		s := open(t, fs, small())
		for n := range 50 {
			push(t, s, n, n+1)
			want(t, s, n, n+1)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if _, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			cancel()
			if s.Stats().Bytes > 100 || s.Stats().Segments != 1 {
				t.Fatalf("%d bytes in %d files", s.Stats().Bytes, s.Stats().Segments)
			}
		}
		must(t, s.Close())
	})
}

// The power fails at a random moment. What was not taken is there, in order;
// what was taken may come again, and only that.
func TestPowerLossCostsNothingThatWaits(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 6))
		fs := powerloss.New()
		o := small()
		o.Always = true
		s := open(t, fs, o)
		pushed, got := 0, 0
		for range 10 {
			more := rng.IntN(150)
			push(t, s, pushed, pushed+more)
			pushed += more
			n := rng.IntN(pushed - got + 1)
			want(t, s, got, got+n)
			got += n
			if rng.IntN(6) == 0 {
				break
			}
		}
		taken := max(got-1, 0) // of these Next was called again for
		s = open(t, fs.Crash(rng), o)
		first := pushed - s.Len()
		if first > taken {
			t.Fatalf("seed %d: it begins with %d, %d were taken", seed, first, taken)
		}
		want(t, s, first, pushed)
	}
}
