package ledger_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/store"
)

func plain(device int, at int64) *envelope.Message {
	return &envelope.Message{Kind: envelope.KindText, Sender: "anna", Device: device, Timestamp: at, Text: "!ja"}
}

func edit(device int, at, of int64) *envelope.Message {
	m := plain(device, at)
	m.Kind, m.Edits = envelope.KindEdit, of
	return m
}

// Of a message and its edits one is taken, the first that comes.
func TestOneOfAMessageAndItsEditsIsTaken(t *testing.T) {
	bert := plain(1, 1)
	bert.Sender = "bert"
	tests := map[string]struct {
		came []*envelope.Message
		next *envelope.Message
		want bool
	}{
		"a first edit of what was no command":   {nil, edit(1, 5, 1), true},
		"an edit of what was taken":             {[]*envelope.Message{plain(1, 1)}, edit(1, 5, 1), false},
		"one from another device":               {[]*envelope.Message{plain(1, 1)}, edit(2, 5, 1), false},
		"a second edit":                         {[]*envelope.Message{edit(1, 5, 1)}, edit(1, 6, 1), false},
		"a second one from another device":      {[]*envelope.Message{edit(1, 5, 1)}, edit(2, 6, 1), false},
		"the same one again":                    {[]*envelope.Message{edit(1, 5, 1)}, edit(1, 5, 1), false},
		"a second edit that names the first":    {[]*envelope.Message{edit(1, 5, 1)}, edit(1, 6, 5), false},
		"one that names a first of no use":      {[]*envelope.Message{plain(1, 1), edit(1, 5, 1)}, edit(1, 6, 5), false},
		"a third that names the second":         {[]*envelope.Message{plain(1, 1), edit(1, 5, 1), edit(1, 6, 5)}, edit(1, 7, 6), false},
		"what was edited, late":                 {[]*envelope.Message{edit(1, 5, 1)}, plain(1, 1), false},
		"another person's edit":                 {[]*envelope.Message{bert}, edit(1, 5, 1), true},
		"an edit of another message":            {[]*envelope.Message{plain(1, 1), edit(1, 5, 1)}, edit(1, 6, 2), true},
		"another device's message of a moment":  {[]*envelope.Message{plain(1, 1)}, plain(2, 1), true},
		"a message of the moment of an edit of": {[]*envelope.Message{plain(1, 1), plain(2, 1)}, edit(3, 5, 1), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fs := powerloss.New()
			l := open(t, fs, onDisk())
			for _, m := range tt.came {
				if _, err := l.Accept(m, start, false); err != nil {
					t.Fatal(err)
				}
			}
			for _, l := range []*life{open(t, fs.Clone(), onDisk()), l} {
				if l.Known(tt.next) == tt.want {
					t.Errorf("known: %t", !tt.want)
				}
				if fresh, err := l.Accept(tt.next, start, false); fresh != tt.want || err != nil {
					t.Errorf("fresh: %t, %v", fresh, err)
				}
				if !l.Known(tt.next) {
					t.Error("taken, and not known")
				}
			}
		})
	}
}

// Of what was no command that anybody knows the first edit is taken, and from
// then on stands for it. Whatever else became of it stays as it is: somebody has
// an answer, may have one, or took it back.
func TestAnEditOfWhatWasNoCommandIsTakenOnce(t *testing.T) {
	settled := func(s ledger.State) func(*life) error {
		return func(l *life) error { return l.Settle(ledger.KeyOf(plain(1, 1)), s) }
	}
	begun := func(l *life) error { return l.Begin(ledger.KeyOf(plain(1, 1))) }
	deleted := func(l *life) error { l.Cancel("anna", 1); return nil }
	for name, tt := range map[string]struct {
		became func(*life) error
		want   bool
	}{
		"no command": {settled(ledger.NoCommand), true},
		"dropped":    {settled(ledger.Dropped), false},
		"sent":       {settled(ledger.Sent), false},
		"failed":     {settled(ledger.Failed), false},
		"unknown":    {settled(ledger.Unknown), false},
		"in flight":  {begun, false},
		"deleted":    {deleted, false},
	} {
		for _, compact := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " compact ", compact), func(t *testing.T) {
				fs := powerloss.New()
				l := open(t, fs, onDisk())
				if _, err := l.Accept(plain(1, 1), start, false); err != nil {
					t.Fatal(err)
				}
				must(t, tt.became(l))
				if compact {
					must(t, l.store.Compact())
				}
				for _, l := range []*life{open(t, fs.Clone(), onDisk()), l} {
					if l.Known(edit(2, 5, 1)) == tt.want {
						t.Errorf("known: %t", !tt.want)
					}
					if fresh, err := l.Accept(edit(2, 5, 1), start, false); fresh != tt.want || err != nil {
						t.Errorf("fresh: %t, %v", fresh, err)
					}
					for _, again := range []*envelope.Message{plain(1, 1), edit(2, 5, 1), edit(1, 6, 1), edit(1, 6, 5)} {
						if fresh, err := l.Accept(again, start, false); fresh || err != nil {
							t.Errorf("%d, an edit of %d, is fresh: %t, %v", again.Timestamp, again.Edits, fresh, err)
						}
					}
				}
			})
		}
	}
}

func TestAnEditIsAnsweredByItsOwnKey(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk())
	m := edit(1, 5, 1)
	k := ledger.KeyOf(m)
	if want := (ledger.Key{Sender: "anna", Device: 1, Timestamp: 1, Edit: true}); k != want {
		t.Fatalf("the key is %+v", k)
	}
	if _, err := l.Accept(m, start, false); err != nil {
		t.Fatal(err)
	}
	if w := open(t, fs.Clone(), onDisk()).Waiting(); len(w) != 1 || w[0].Message.Edits != 1 || w[0].Message.Timestamp != 5 {
		t.Errorf("waiting are %+v", w)
	}
	must(t, l.Begin(k))
	must(t, l.Settle(k, ledger.Sent))
	if s := l.StateOf(k); s != ledger.Sent {
		t.Errorf("it is %q", s)
	}
}

// What its author deleted before it was begun is not answered.
func TestADeletedMessageIsNotAnswered(t *testing.T) {
	for name, tt := range map[string]struct {
		m       *envelope.Message
		spilled bool
		deleted int64
		want    bool
	}{
		"one that waits":                      {plain(1, 1), false, 1, true},
		"one that is spilled":                 {plain(1, 1), true, 1, true},
		"an edit, by what it edits":           {edit(1, 5, 1), false, 1, true},
		"an edit, by its own moment":          {edit(1, 5, 1), false, 5, true},
		"another device's":                    {plain(2, 1), false, 1, true},
		"one that never came":                 {plain(1, 1), false, 2, false},
		"one that its edit's moment does not": {plain(1, 1), false, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			fs := powerloss.New()
			l := open(t, fs, onDisk())
			k := ledger.KeyOf(tt.m)
			if _, err := l.Accept(tt.m, start, tt.spilled); err != nil {
				t.Fatal(err)
			}
			if got := l.Cancel("bert", tt.deleted); got {
				t.Error("somebody else deleted it")
			}
			if got := l.Cancel("anna", tt.deleted); got != tt.want {
				t.Errorf("cancelled: %t", got)
			}
			for _, l := range []*life{open(t, fs.Clone(), onDisk()), l} {
				if tt.want {
					if err := l.Begin(k); !errors.Is(err, ledger.ErrCancelled) || l.StateOf(k) != ledger.Dropped {
						t.Errorf("begun: %v, it is %q", err, l.StateOf(k))
					}
					if wanted, err := l.Unspill(tt.m); wanted || err != nil {
						t.Errorf("wanted from the spill: %t, %v", wanted, err)
					}
				} else if err := l.Begin(k); err != nil {
					t.Error(err)
				}
				if l.Cancel("anna", tt.deleted) {
					t.Error("cancelled when it waited no more")
				}
				if !l.Known(tt.m) {
					t.Error("forgotten")
				}
			}
		})
	}
}

// One whose answer was begun is not cancelled, and what was never taken is not
// begun.
func TestTheBegunIsNotCancelled(t *testing.T) {
	l := open(t, powerloss.New(), store.Options{})
	m := plain(1, 1)
	k := ledger.KeyOf(m)
	if err := l.Begin(k); !errors.Is(err, ledger.ErrCancelled) {
		t.Errorf("one that nobody knows: %v", err)
	}
	if _, err := l.Accept(m, start, false); err != nil {
		t.Fatal(err)
	}
	must(t, l.Begin(k))
	if l.Cancel("anna", 1) || l.StateOf(k) != ledger.InFlight {
		t.Errorf("it is %q", l.StateOf(k))
	}
	for _, s := range []ledger.State{ledger.Waiting, ledger.InFlight, "", "gone"} {
		if err := l.Settle(k, s); err == nil {
			t.Errorf("settled as %q", s)
		}
	}
}

// A receipt settles what nobody knew of, in the next life too.
func TestUnknownOnesAreFoundByWhenTheyWereBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := powerloss.New()
		l := open(t, fs, onDisk())
		begun := time.Now()
		for at := range int64(4) {
			if _, err := l.Accept(plain(1, at+1), start, false); err != nil {
				t.Fatal(err)
			}
			must(t, l.Begin(ledger.KeyOf(plain(1, at+1))))
			time.Sleep(time.Second)
		}
		must(t, l.Settle(ledger.KeyOf(plain(1, 1)), ledger.Unknown))
		must(t, l.Settle(ledger.KeyOf(plain(1, 3)), ledger.Sent))
		check := func(l *life, from, to int, want string) {
			t.Helper()
			var got []int64
			for _, k := range l.Unknown("anna", begun.Add(time.Duration(from)*time.Second), begun.Add(time.Duration(to)*time.Second)) {
				got = append(got, k.Timestamp)
			}
			if fmt.Sprint(got) != want {
				t.Errorf("from %d to %d: %v, want %s", from, to, got, want)
			}
		}
		check(l, 0, 9, "[1]")
		must(t, l.store.Sync(t.Context()))
		must(t, l.store.Close())
		fs = fs.Clone()
		l = open(t, fs, onDisk())
		if r := l.Recovered(); r.Unknown != 2 || r.Waiting != 0 {
			t.Errorf("recovered %+v", r)
		}
		check(l, 0, 9, "[1 2 4]")
		check(l, 0, 0, "[1]")
		check(l, 1, 2, "[2]")
		check(l, 2, 2, "[]")
		if got := l.Unknown("bert", begun, time.Now()); len(got) != 0 {
			t.Errorf("somebody else has %v", got)
		}
		must(t, l.Settle(l.Unknown("anna", begun, begun)[0], ledger.Sent))
		check(l, 0, 9, "[2 4]")
		must(t, l.store.Close())
		l = open(t, fs.Clone(), onDisk())
		check(l, 0, 9, "[2 4]")
		if r := l.Recovered(); r.Unknown != 0 {
			t.Errorf("%d were counted twice", r.Unknown)
		}
		must(t, l.store.Close())
	})
}
