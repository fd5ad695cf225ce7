// Package people keeps what the bot remembers of each person: how many commands
// they have used, and who wants nothing remembered.
//
// A person's uuid is nowhere in it, in memory or on disk: people are told apart by
// a digest of it with a salt that only this bot's store has. Who has the store and
// the uuid can tell what is remembered of it; who has the store alone learns no
// uuid from it.
//
// Memory changes first, and stays changed when it cannot be written: an error says
// that a restart may undo it. What other books keep of a person is their business.
package people

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"sync"

	"quartet/services/botd/internal/store"
)

const (
	// maxTallied bounds the people counted. Beyond it the count of whom was
	// counted longest ago goes.
	maxTallied = 1 << 16

	// maxOut bounds those who want nothing remembered.
	maxOut = 100_000
)

// ErrTooMany is returned by OptOut when no more people can be remembered as
// wanting nothing remembered. Nothing was changed; Forget still works.
var ErrTooMany = errors.New("too many people have opted out")

// People is a store.Book. It is safe for concurrent use.
type People struct {
	w *store.Store

	deciding sync.Mutex // held over a change of out, to make it one by one

	mu    sync.Mutex
	salt  salt              // guarded by mu, as all below; constant once the store is open
	ours  bool              // the salt is from this life: the disk may not have it
	tally recent            // who was counted
	out   map[mark]struct{} // who wants nothing remembered; never changed, only replaced
	era   int64             // how often somebody was forgotten
}

// New returns people of whom nothing is known.
func New(w *store.Store) *People {
	p := &People{w: w, ours: true, tally: newRecent()}
	_, _ = rand.Read(p.salt[:]) // never fails
	return p
}

// Count adds one use of a command and returns how many there are, and what to
// write with what begins the answer. For who opted out it is 0 and nothing. What
// it returned before somebody was forgotten brings nothing back, however late it
// is written.
func (p *People) Count(person string) (uses int, rec []store.Record) {
	p.mu.Lock()
	m := p.salt.mark(person)
	if _, out := p.out[m]; out {
		p.mu.Unlock()
		return 0, nil
	}
	t := p.tally.touch(m)
	t.uses++
	t.era = p.era
	r := record{Mark: m[:], Uses: t.uses, Era: t.era}
	all := [2]record{{Salt: p.salt[:]}, r}
	with := all[1:]
	if p.ours {
		with = all[:] // small, and every one is the first that gets there
	}
	p.mu.Unlock()
	return int(r.Uses), encode(with)
}

// Uses is how many commands a person has used, as far as it is remembered.
func (p *People) Uses(person string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.tally.find(p.salt.mark(person)); t != nil {
		return int(t.uses)
	}
	return 0
}

// OptedOut reports whether a person wants nothing remembered.
func (p *People) OptedOut(person string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, out := p.out[p.salt.mark(person)]
	return out
}

// Forget erases what is remembered of a person, and has the store shortened to
// what the bot still knows: then it is on no disk either. Like OptOut it is not to
// be called within a step of the store, nor with the person's Count unwritten (that
// would count for nothing, but be on the disk).
func (p *People) Forget(person string) error {
	p.mu.Lock()
	records := p.changed(record{Mark: p.erase(person), Gone: true, Era: p.era})
	p.mu.Unlock()
	if err := p.erased(records); err != nil {
		return fmt.Errorf("forget somebody: %w", err)
	}
	return nil
}

// OptOut does so, and remembers only that nothing is to be remembered of them.
func (p *People) OptOut(person string) error {
	p.deciding.Lock()
	defer p.deciding.Unlock()
	out := p.outWith(person, true)
	if len(out) > maxOut {
		return fmt.Errorf("opt somebody out: %w", ErrTooMany)
	}
	p.mu.Lock()
	p.out = out
	records := p.changed(record{Mark: p.erase(person), Out: true, Era: p.era})
	p.mu.Unlock()
	if err := p.erased(records); err != nil {
		return fmt.Errorf("opt somebody out: %w", err)
	}
	return nil
}

// OptIn takes OptOut back; the count begins anew.
func (p *People) OptIn(person string) error {
	p.deciding.Lock()
	defer p.deciding.Unlock()
	out := p.outWith(person, false)
	p.mu.Lock()
	p.out = out
	m := p.salt.mark(person)
	records := p.changed(record{Mark: m[:], In: true})
	p.mu.Unlock()
	if err := p.w.Append(records...); err != nil {
		return fmt.Errorf("opt somebody in: %w", err)
	}
	return nil
}

// outWith is a copy of out with or without a person: so the reader, who has to
// know it of everybody, is not kept waiting for it. p.deciding is held.
func (p *People) outWith(person string, is bool) map[mark]struct{} {
	p.mu.Lock()
	out, m := p.out, p.salt.mark(person)
	p.mu.Unlock()
	if _, was := out[m]; was == is {
		return out
	}
	out = maps.Clone(out)
	if out == nil {
		out = make(map[mark]struct{})
	}
	if is {
		out[m] = struct{}{}
	} else {
		delete(out, m)
	}
	return out
}

// erase takes a person out of memory. p.mu is held, as for changed.
func (p *People) erase(person string) []byte {
	m := p.salt.mark(person)
	p.tally.remove(m)
	p.era++
	return m[:]
}

// changed is a change as it is to be written.
func (p *People) changed(r record) []store.Record {
	if p.ours {
		return encode([]record{{Salt: p.salt[:]}, r})
	}
	return encode([]record{r})
}

// erased has an erasure written. The store's account of what the bot knows is
// without it, so where that can be written it does not matter that the record
// could not; the record is for a kill in between.
func (p *People) erased(records []store.Record) error {
	err := p.w.Append(records...)
	if compacted := p.w.Compact(); compacted != nil {
		return errors.Join(err, compacted)
	}
	return nil
}
