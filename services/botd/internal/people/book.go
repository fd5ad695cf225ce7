package people

import (
	"encoding/json"
	"errors"
	"maps"

	"quartet/services/botd/internal/store"
)

// letter is what the people's records are told by.
const letter = 'p'

// record is one change, as it stands in the journal: the salt, or what became of
// one person.
type record struct {
	Salt []byte `json:"salt,omitempty"`

	Mark []byte `json:"m,omitempty"`
	Uses int64  `json:"n,omitempty"` // how many there are with this one, not one more
	Gone bool   `json:"gone,omitempty"`
	Out  bool   `json:"out,omitempty"`
	In   bool   `json:"in,omitempty"`
	Era  int64  `json:"e,omitempty"` // how often somebody had been forgotten, this time counted
}

func encode(all []record) []store.Record {
	to := make([]store.Record, len(all))
	for i, r := range all {
		raw, _ := json.Marshal(r) // bytes and numbers: it cannot fail
		to[i] = store.Record{Book: letter, Data: raw}
	}
	return to
}

// Letter implements store.Book.
func (p *People) Letter() byte { return letter }

var errRecord = errors.New("no change that people make")

// Apply implements store.Book.
func (p *People) Apply(data []byte) error {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	if r.Era < 0 || r.Uses < 0 || r.Era >= 1<<62 || r.Uses >= 1<<62 {
		return errRecord
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Salt != nil {
		return p.applySalt(r)
	}
	if len(r.Mark) != len(mark{}) || p.ours {
		return errRecord // without a salt no mark means anything
	}
	return p.applyOne(mark(r.Mark), r)
}

// applySalt is for the first record, and for copies of it. The last one of an
// account has the era too.
func (p *People) applySalt(r record) error {
	if len(r.Salt) != len(p.salt) || !p.ours && salt(r.Salt) != p.salt {
		return errRecord
	}
	p.salt, p.ours, p.era = salt(r.Salt), false, max(p.era, r.Era)
	return nil
}

func (p *People) applyOne(m mark, r record) error {
	switch {
	case r.Gone:
		p.applyGone(m, r)
	case r.Out:
		p.applyGone(m, r)
		return p.applyOut(m)
	case r.In:
		delete(p.out, m)
	case r.Uses > 0:
		p.applyCount(m, r)
	default:
		return errRecord
	}
	return nil
}

// applyGone leaves what was counted since, which an account may have already.
func (p *People) applyGone(m mark, r record) {
	if known := p.tally.find(m); known != nil && known.era < r.Era {
		p.tally.remove(m)
	}
	p.era = max(p.era, r.Era)
}

// applyOut changes out in place: nobody reads it yet.
func (p *People) applyOut(m mark) error {
	if p.out == nil {
		p.out = make(map[mark]struct{})
	}
	p.out[m] = struct{}{}
	if len(p.out) > maxOut {
		return ErrTooMany
	}
	return nil
}

// applyCount takes in how many uses there are. A count that was made before the
// last time somebody was forgotten, and was written after it, may be that person's:
// it counts only for whom is known from before.
func (p *People) applyCount(m mark, r record) {
	known := p.tally.find(m)
	if r.Era < p.era && (known == nil || r.Era < known.era) {
		return
	}
	t := p.tally.touch(m)
	t.uses, t.era = max(t.uses, r.Uses), max(t.era, r.Era)
}

// Dump implements store.Book.
func (p *People) Dump(add func(data []byte) error) error {
	p.mu.Lock()
	head := record{Salt: append([]byte(nil), p.salt[:]...)}
	foot := record{Salt: head.Salt, Era: p.era} // behind the counts, which are all known from before
	tallies, out := p.tally.copied(), p.out
	p.mu.Unlock()
	write := func(r record) error { return add(encode([]record{r})[0].Data) }
	if err := write(head); err != nil {
		return err
	}
	for m := range maps.Keys(out) {
		if err := write(record{Mark: m[:], Out: true}); err != nil {
			return err
		}
	}
	var err error
	tallies.oldestFirst(func(t tally) bool {
		err = write(record{Mark: t.mark[:], Uses: t.uses, Era: t.era})
		return err == nil
	})
	if err != nil {
		return err
	}
	return write(foot)
}
