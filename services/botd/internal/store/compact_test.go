package store_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/journal/powerloss"
)

func TestALongJournalIsShortened(t *testing.T) {
	fs := powerloss.New()
	p := open(t, fs, onDisk)
	long := strings.Repeat("x", 4<<20)
	for i := range 20 { // more than the journal may have
		must(t, p.Append(p.a.change("one", long+fmt.Sprint(i))))
		must(t, p.Tidy())
	}
	if s := p.Stats(); s.Bytes > 24<<20 || s.SnapshotBytes < 1<<20 {
		t.Errorf("%d bytes, and %d of an account", s.Bytes, s.SnapshotBytes)
	}
	p = open(t, fs.Clone(), onDisk)
	wantWords(t, p.a, map[string]string{"one": long + "19"})
}

// Where little is written, what was forgotten goes all the same, within an hour.
func TestAShortJournalIsShortenedEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := powerloss.New()
		p := open(t, fs, onDisk)
		must(t, p.Append(p.a.change("author", "a secret"), p.a.change("author", "")))
		must(t, p.Tidy())
		if s := p.Stats(); s.SnapshotBytes > 0 {
			t.Error("shortened at once")
		}
		time.Sleep(61 * time.Minute)
		must(t, p.Tidy())
		wantNowhere(t, fs, "secret")
		must(t, p.Close())
	})
}

// An account of many records is written unhurriedly by Tidy, because commands are
// answered meanwhile, and at once by Compact, for which somebody waits.
func TestTidyPausesAndCompactDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, powerloss.New(), onDisk)
		for i := range 640 {
			must(t, p.Append(p.a.change(fmt.Sprint(i), "word")))
		}
		took := func(shorten func() error) time.Duration {
			began := time.Now()
			must(t, shorten())
			return time.Since(began)
		}
		if d := took(p.Compact); d != 0 {
			t.Errorf("Compact paused for %v", d)
		}
		time.Sleep(61 * time.Minute)
		if d := took(p.Tidy); d != 10*time.Millisecond {
			t.Errorf("Tidy paused for %v", d)
		}
		must(t, p.Close())
	})
}

// What a book had forgotten is on no disk after Compact, whatever others write
// meanwhile, and no loss of power brings it back.
func TestWhatIsForgottenIsOnNoDisk(t *testing.T) {
	for seed := range uint64(50) {
		fs, rng := powerloss.New(), rand.New(rand.NewPCG(seed, 3))
		p := open(t, fs, onDisk)
		must(t, p.Append(p.a.change("author", "a secret")))
		if seed%2 == 0 {
			must(t, p.Compact())
		}
		must(t, p.Append(p.a.change("author", "another secret")))
		over := make(chan struct{})
		var beside sync.WaitGroup
		beside.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				default:
				}
				if err := p.Append(p.b.change(fmt.Sprint(i%10), fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
				runtime.Gosched()
			}
		})
		must(t, p.Append(p.a.change("author", "")))
		must(t, p.Compact())
		after := fs.AfterCrash(rng)
		close(over)
		beside.Wait()
		wantNowhere(t, fs, "secret")
		wantNowhere(t, after, "secret")
		p = open(t, after, onDisk)
		wantWords(t, p.a, nil)
		must(t, p.Close())
	}
}

// A step changes one book, both are accounted for, then it changes the other
// and has both written. No start finds a half of it, neither while the step
// holds nor after it, whatever a kill or a loss of power leaves.
func TestAStepIsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, rng := powerloss.New(), rand.New(rand.NewPCG(4, 4))
		p := open(t, fs, onDisk)
		crash := func() {
			t.Helper()
			for _, disk := range []*powerloss.FS{fs.Clone(), fs.AfterCrash(rng), fs.AfterCrash(rng), fs.AfterCrash(rng)} {
				after := open(t, disk, onDisk)
				wantWords(t, after.b, after.a.all())
				must(t, after.Close())
			}
		}
		done := p.Step()
		a := p.a.change("one", "x")
		compacted := make(chan error, 1)
		go func() { compacted <- p.Compact() }()
		synctest.Wait()
		crash()
		inner := p.Step() // is not waited for by itself
		b := p.b.change("one", "x")
		must(t, p.Append(a, b))
		done()
		must(t, <-compacted)
		inner()
		crash()
		must(t, p.Close())
	})
}

// Steps change one book after the other while the journal is shortened and the
// bot is killed or loses power: no start finds a half of one.
func TestStepsInAStormAreWhole(t *testing.T) {
	const workers, each = 4, 200
	fs := powerloss.New()
	p := open(t, fs, onDisk)
	var working, beside sync.WaitGroup
	for w := range workers {
		working.Go(func() {
			for i := range each {
				done := p.Step()
				name := fmt.Sprint(w, "-", i)
				a := p.a.change(name, "x")
				for range rand.IntN(50) {
					runtime.Gosched()
				}
				inner := p.Step()
				if err := p.Append(a, p.b.change(name, "x")); err != nil {
					t.Error(err)
				}
				inner()
				done()
			}
		})
	}
	over := make(chan struct{})
	for range 2 {
		beside.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(100 * time.Microsecond):
				}
				if err := p.Compact(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(4, 4))
	kill := func(fs *powerloss.FS) {
		after := open(t, fs, onDisk)
		wantWords(t, after.b, after.a.all())
		must(t, after.Close())
	}
	for range 15 {
		time.Sleep(rand.N(time.Millisecond))
		kill(fs.Clone())
		kill(fs.AfterCrash(rng))
	}
	working.Wait()
	close(over)
	beside.Wait()
	kill(fs.Clone())
	if n := len(p.a.all()); n != workers*each {
		t.Errorf("%d changes", n)
	}
}
