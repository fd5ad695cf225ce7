package ledger_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/spill"
	"quartet/services/botd/internal/store"
)

// world is a bot that works with a ledger and a spill, dies at any step on the
// disk, and gets messages again that it had.
type world struct {
	t     *testing.T
	rng   *rand.Rand
	fs    *powerloss.FS
	begun [messages]int

	life  *life
	spill *spill.Spill
	queue []*envelope.Message // the backlog
}

const messages = 60

// Whatever happens, every message is begun once: with Always no step that
// returned is lost.
func TestEveryMessageIsBegunOnce(t *testing.T) {
	for seed := range uint64(60) {
		w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 8)), fs: powerloss.New()}
		for range 1 + w.rng.IntN(5) {
			w.fs.StopAfter(1 + w.rng.IntN(400))
			w.live()
			if w.rng.IntN(2) == 0 && !w.fs.Crashed() {
				w.fs = w.fs.Clone()
			} else {
				w.fs = w.fs.Crash(w.rng)
			}
		}
		if !w.live() {
			t.Fatalf("seed %d: the last life ended early", seed)
		}
		for n, begun := range w.begun {
			s := w.life.StateOf(key(n))
			if begun > 1 || s != ledger.Sent && s != ledger.Unknown || begun == 0 && s == ledger.Sent {
				t.Errorf("seed %d: message %d was begun %d times and is %q", seed, n, begun, s)
			}
		}
		w.close()
		if t.Failed() {
			return
		}
	}
}

// live returns true if the bot did all that there was to do.
func (w *world) live() bool {
	if w.open() != nil {
		return false
	}
	defer w.close()
	for n := 0; n < messages || w.waits(); {
		var err error
		switch w.rng.IntN(8) {
		case 0, 1, 2:
			if n < messages {
				err = w.receive(message(n))
				n++
			}
		case 3, 4:
			err = w.takeBack()
		case 5, 6:
			err = w.answer()
		case 7:
			if w.rng.IntN(10) == 0 {
				err = w.life.store.Compact()
			}
		}
		if err != nil {
			return false
		}
	}
	return true
}

func (w *world) open() error {
	w.queue = nil
	var err error
	if w.life, err = tryOpen(w.fs, store.Options{Dir: "state", Always: true}); err != nil {
		return w.crashed(err)
	}
	w.spill, err = spill.Open(w.fs, "spill", spill.Options{MaxBytes: 256 << 10, Always: true, Safe: w.life.store.Sync})
	if err != nil {
		w.life.store.Close()
		return w.crashed(err)
	}
	for _, waiting := range w.life.Waiting() {
		w.queue = append(w.queue, &waiting.Message)
	}
	return nil
}

func (w *world) close() {
	_, _ = w.spill.Close(), w.life.store.Close() // the disk may be gone
}

func (w *world) waits() bool { return len(w.queue) > 0 || w.spill.Len() > 0 }

// crashed lets nothing pass but the end of the disk.
func (w *world) crashed(err error) error {
	if err != nil && !errors.Is(err, powerloss.ErrCrashed) {
		w.t.Error(err)
	}
	return err
}

func (w *world) receive(m *envelope.Message) error {
	if w.life.Known(m) {
		return nil
	}
	m.Text += string(make([]byte, 500)) // so that segments of the spill come and go
	toSpill := w.spill.Len() > 0 || len(w.queue) > 3
	if toSpill {
		if err := w.spill.Push(m, start); err != nil {
			return w.crashed(err)
		}
	}
	fresh, err := w.life.Accept(m, start, toSpill)
	if err == nil && fresh && !toSpill {
		w.queue = append(w.queue, m)
	}
	return w.crashed(err)
}

func (w *world) takeBack() error {
	if w.spill.Len() == 0 || len(w.queue) > 3 {
		return nil
	}
	taken, err := w.spill.Next(context.Background())
	if err != nil {
		return w.crashed(err)
	}
	wanted, err := w.life.Unspill(&taken.Message)
	if wanted {
		w.queue = append(w.queue, &taken.Message)
	}
	return w.crashed(err)
}

func (w *world) answer() error {
	if len(w.queue) == 0 {
		return nil
	}
	k := ledger.KeyOf(w.queue[0])
	w.queue = w.queue[1:]
	if err := w.life.Begin(k); err != nil {
		return w.crashed(err)
	}
	w.begun[k.Timestamp]++
	return w.crashed(w.life.Settle(k, ledger.Sent))
}
