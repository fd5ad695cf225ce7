package ledger_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/store"
)

// tally is another book: it counts what was begun, by name.
type tally struct {
	mu   sync.Mutex
	uses map[string]int
}

func newTally() *tally { return &tally{uses: map[string]int{}} }

func (b *tally) Letter() byte { return 't' }

func (b *tally) Apply(data []byte) error {
	var name string
	var n int
	if _, err := fmt.Sscan(string(data), &name, &n); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.uses[name] = n
	return nil
}

func (b *tally) Dump(add func([]byte) error) error {
	b.mu.Lock()
	uses := maps.Clone(b.uses)
	b.mu.Unlock()
	for name, n := range uses {
		if err := add(fmt.Append(nil, name, " ", n)); err != nil {
			return err
		}
	}
	return nil
}

// use changes the memory and returns what writes it down.
func (b *tally) use(name string, n int) store.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.uses[name] += n
	return store.Record{Book: 't', Data: fmt.Append(nil, name, " ", b.uses[name])}
}

func (b *tally) of(name string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.uses[name]
}

// fate is what a random life did with one message, up to its last step.
type fate struct {
	m        *envelope.Message
	spilled  bool
	unspilt  bool
	begun    bool
	refunded bool
	state    ledger.State
}

// The power fails at a random moment, again and again, and with Always: every
// step that returned is safe, with what others wrote of it, for messages and
// edits, here and in the spill, and nothing would be answered twice.
func TestPowerLossForgetsNoStep(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 1))
		fs := powerloss.New()
		o := onDisk()
		o.Always = true
		uses := newTally()
		l := open(t, fs, o, uses)
		var fates []*fate
		for n := range 20 + rng.IntN(30) {
			fates = append(fates, live(t, rng, l, uses, n))
			if rng.IntN(15) == 0 {
				must(t, l.store.Compact())
			}
		}
		uses = newTally()
		after := open(t, fs.Crash(rng), o, uses)
		for _, f := range fates {
			f.check(t, after, uses)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// live takes a message or an edit and does a random number of steps with it.
func live(t *testing.T, rng *rand.Rand, l *life, uses *tally, n int) *fate {
	f := &fate{m: message(n), spilled: rng.IntN(3) == 0, state: ledger.Waiting}
	if rng.IntN(3) == 0 {
		f.m.Kind, f.m.Edits = envelope.KindEdit, int64(1000+n)
	}
	k := ledger.KeyOf(f.m)
	if fresh, err := l.Accept(f.m, start, f.spilled); !fresh || err != nil {
		t.Fatal(fresh, err)
	}
	if rng.IntN(6) == 0 {
		if !l.Cancel(f.m.Sender, k.Timestamp) {
			t.Error("not cancelled")
		}
		f.state = ledger.Dropped
		return f
	}
	if f.spilled && rng.IntN(2) == 0 {
		wanted, err := l.Unspill(f.m)
		if !wanted || err != nil {
			t.Error(wanted, err)
		}
		f.unspilt = true
	}
	if rng.IntN(3) == 0 {
		return f
	}
	done := l.store.Step()
	must(t, l.Begin(k, uses.use(name(k), 1)))
	done()
	f.begun, f.state = true, ledger.Unknown
	switch rng.IntN(5) {
	case 0:
	case 1:
		done := l.store.Step()
		must(t, l.Unbegin(f.m, uses.use(name(k), -1)))
		done()
		f.refunded, f.unspilt, f.state = true, true, ledger.Waiting
	case 2:
		done := l.store.Step()
		must(t, l.Settle(k, ledger.Failed, uses.use(name(k), -1)))
		done()
		f.refunded, f.state = true, ledger.Failed
	default:
		must(t, l.Settle(k, ledger.Sent))
		f.state = ledger.Sent
	}
	return f
}

func name(k ledger.Key) string { return fmt.Sprint(k.Sender, "/", k.Timestamp) }

func (f *fate) check(t *testing.T, after *life, uses *tally) {
	t.Helper()
	k := ledger.KeyOf(f.m)
	if got := after.StateOf(k); got != f.state {
		t.Errorf("%+v is %q, want %q", k, got, f.state)
	}
	want := 0
	if f.begun && !f.refunded {
		want = 1
	}
	if got := uses.of(name(k)); got != want {
		t.Errorf("%+v was used %d times, want %d", k, got, want)
	}
	here := 0
	for _, w := range after.Waiting() {
		if ledger.KeyOf(&w.Message) == k && w.Message.Text == f.m.Text {
			here++
		}
	}
	wantHere := f.state == ledger.Waiting && (!f.spilled || f.unspilt)
	if here > 1 || (here == 1) != wantHere {
		t.Errorf("%+v waits here %d times, want %t", k, here, wantHere)
	}
	inSpill := f.state == ledger.Waiting && !wantHere
	if after.Known(f.m) == inSpill {
		t.Errorf("%+v is known: %t", k, !inSpill)
	}
	if wanted, err := after.Unspill(f.m); wanted != inSpill || err != nil {
		t.Errorf("%+v is wanted from the spill: %t, %v", k, wanted, err)
	}
}

// Without Always a loss of power forgets the end, and of no step a half.
func TestPowerLossForgetsWholeSteps(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 5))
		fs := powerloss.New()
		uses := newTally()
		l := open(t, fs, onDisk(), uses)
		for n := range 40 {
			k := key(n)
			accept(t, l, n)
			done := l.store.Step()
			must(t, l.Begin(k, uses.use(name(k), 1)))
			done()
			if n == 20 && seed%2 == 0 {
				must(t, l.store.Compact())
			}
		}
		uses = newTally()
		after := open(t, fs.Crash(rng), onDisk(), uses)
		lost := false
		for n := range 40 {
			s := after.StateOf(key(n))
			if (s == ledger.Unknown) != (uses.of(name(key(n))) == 1) {
				t.Errorf("seed %d: message %d is %q, used %d times", seed, n, s, uses.of(name(key(n))))
			}
			if lost && s != "" {
				t.Errorf("seed %d: message %d is there, and not an earlier one", seed, n)
			}
			lost = lost || s != ledger.Unknown
		}
	}
}

// A full disk that refuses what others write of a step refuses the step.
func TestAStepThatCannotBeWrittenIsNone(t *testing.T) {
	fs := powerloss.New()
	uses := newTally()
	l := open(t, fs, onDisk(), uses)
	accept(t, l, 1)
	fs.SetCapacity(1)
	if err := l.Begin(key(1), uses.use("x", 1)); err == nil || errors.Is(err, ledger.ErrCancelled) {
		t.Fatal(err)
	}
	uses = newTally()
	after := open(t, fs.Clone(), onDisk(), uses)
	if s := after.StateOf(key(1)); s != ledger.Waiting || uses.of("x") != 0 {
		t.Errorf("it is %q, used %d times", s, uses.of("x"))
	}
}
