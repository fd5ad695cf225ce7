package journal_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"quartet/kit/journal"
	"quartet/kit/journal/powerloss"
)

// model is what a journal must have, beside a journal that is tormented.
type model struct {
	t   *testing.T
	rng *rand.Rand
	fs  *powerloss.FS
	log *journal.Log

	groups  []group // everything ever appended that may be in the log
	sure    int     // as many of them must survive a loss of power
	dropped int     // as many of them may be gone
	covered []int   // a checkpoint that may be there stands for as many
	next    int
}

// group is what one Append wrote.
type group struct {
	at      journal.Pos
	records []string
}

// TestRecoveryKeepsABeginningWithAllThatWasSynced runs random appends, syncs,
// drops, checkpoints, kills, losses of power between and in the middle of these,
// full disks and failing ones.
func TestRecoveryKeepsABeginningWithAllThatWasSynced(t *testing.T) {
	rounds := 4000
	if testing.Short() {
		rounds = 500
	}
	for seed := range uint64(rounds) {
		m := &model{t: t, rng: newRand(seed), fs: powerloss.New(), covered: []int{0}}
		func() {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			for range 1 + m.rng.IntN(4) {
				m.life()
			}
		}()
		if t.Failed() {
			return
		}
	}
}

// life is from an Open to a crash.
func (m *model) life() {
	if m.rng.IntN(4) == 0 {
		m.fs.StopAfter(1 + m.rng.IntN(8)) // in the middle of Open, perhaps
	}
	o := journal.Options{
		SegmentBytes: int64(256 << m.rng.IntN(3)),
		MaxBytes:     1 << 14,
		SyncEvery:    never,
		Always:       m.rng.IntN(4) == 0,
	}
	log, err := journal.Open(m.fs, dir, o)
	if err != nil {
		if !errors.Is(err, powerloss.ErrCrashed) {
			m.t.Fatalf("open: %v", err)
		}
		m.fs = m.fs.Crash(m.rng)
		return
	}
	m.log = log
	m.check()
	if m.rng.IntN(3) == 0 {
		m.fs.StopAfter(1 + m.rng.IntN(60))
	}
	for range m.rng.IntN(60) {
		if !m.step(o) {
			break
		}
	}
	m.end()
}

// step does one thing. It returns false when the log is of no use any more.
func (m *model) step(o journal.Options) bool {
	switch m.rng.IntN(16) {
	default:
		return m.append(o)
	case 0, 1:
		return m.settle(m.log.Sync(context.Background()))
	case 2:
		return m.drop()
	case 3:
		return m.checkpoint()
	case 4:
		_, err := m.log.Rotate()
		return err == nil || m.survived(err)
	case 5:
		if m.rng.IntN(4) == 0 {
			m.faults()
		}
		return true
	}
}

// faults makes the disk full, or fail at random, or neither.
func (m *model) faults() {
	m.fs.SetCapacity(0)
	m.fs.SetFail(nil)
	switch m.rng.IntN(3) {
	case 0:
		m.fs.SetCapacity(int64(1 + m.rng.IntN(4000)))
	case 1:
		rng := newRand(m.rng.Uint64())
		m.fs.SetFail(func(powerloss.Op) error {
			if rng.IntN(8) == 0 {
				return syscall.EIO
			}
			return nil
		})
	}
}

func (m *model) append(o journal.Options) bool {
	var g group
	var records [][]byte
	for range 1 + m.rng.IntN(3) {
		r := fmt.Sprintf("%d:%s", m.next, strings.Repeat("x", m.rng.IntN(60)))
		m.next++
		g.records = append(g.records, r)
		records = append(records, []byte(r))
	}
	at, err := m.log.Append(records...)
	g.at = at
	switch {
	case err == nil:
		m.groups = append(m.groups, g)
		if o.Always {
			m.sure = len(m.groups)
		}
	case errors.Is(err, journal.ErrFull):
		return true
	case errors.Is(err, powerloss.ErrCrashed) || errors.Is(err, journal.ErrBroken):
		// Nobody knows: it may be there after all.
		g.at = 0
		m.groups = append(m.groups, g)
		return false
	case !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EIO):
		m.t.Fatalf("append: %v", err)
	}
	return true
}

// settle takes note of a call that syncs everything.
func (m *model) settle(err error) bool {
	if err == nil {
		m.sure = len(m.groups)
		return true
	}
	return m.survived(err)
}

// survived says whether the log is to be used after an error.
func (m *model) survived(err error) bool {
	switch {
	case errors.Is(err, powerloss.ErrCrashed), errors.Is(err, journal.ErrBroken):
		return false
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EIO), errors.Is(err, journal.ErrFull):
		return true
	}
	m.t.Fatal(err)
	return false
}

func (m *model) drop() bool {
	if len(m.groups) == 0 {
		return true
	}
	n := m.dropped + m.rng.IntN(len(m.groups)-m.dropped+1)
	before := m.log.End()
	if n < len(m.groups) {
		before = m.groups[n].at
	}
	m.dropped = n
	// It syncs up to the first segment that stays.
	err := m.log.Drop(before)
	return err == nil || m.survived(err)
}

func (m *model) checkpoint() bool {
	at, n := m.log.End(), len(m.groups)
	m.covered = append(m.covered, n)
	err := m.log.Checkpoint(at, func(add func([]byte) error) error {
		for i := range n % 5 {
			if err := add(fmt.Appendf(nil, "%d of a checkpoint", i)); err != nil {
				return err
			}
		}
		return add(fmt.Appendf(nil, "%d", n))
	})
	if err == nil {
		m.covered = []int{n}
		return m.settle(nil)
	}
	return m.survived(err)
}

// end ends a life in one of the ways there are.
func (m *model) end() {
	fs := m.fs
	switch how := m.rng.IntN(4); {
	case how == 0 && m.log.Close() == nil: // and the power fails later
		m.sure = m.known()
		m.fs = fs.Crash(m.rng)
	case how == 1 && !fs.Crashed(): // killed
		m.sure = m.known()
		m.fs = fs.Clone()
	default:
		m.fs = fs.Crash(m.rng)
	}
	fs.Crash(m.rng) // what is left of the old process does nothing more
	_ = m.log.Close()
}

// known is how many groups were appended without an error.
func (m *model) known() int {
	n := len(m.groups)
	if n > 0 && m.groups[n-1].at == 0 {
		n--
	}
	return n
}

// check compares what a log has after a start, and makes it the model's.
func (m *model) check() {
	m.t.Helper()
	covered := 0
	from, err := m.log.Snapshot(func(record []byte) error {
		_, err := fmt.Sscanf(string(record), "%d", &covered)
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	if !slices.Contains(m.covered, covered) {
		m.t.Fatalf("the checkpoint stands for %d groups, want one of %v", covered, m.covered)
	}
	s := m.log.Stats()
	gone, kept := 0, 0
	for _, g := range m.groups[:m.known()] {
		if g.at < s.Oldest {
			gone++
		}
		if g.at < s.End {
			kept++
		}
	}
	if gone > m.dropped {
		m.t.Fatalf("%d groups are gone, %d were dropped", gone, m.dropped)
	}
	everything := m.scan(0)
	if kept == m.known() && kept < len(m.groups) && ends(everything, m.groups[kept]) {
		m.groups[kept].at = everything[len(everything)-len(m.groups[kept].records)].at
		kept++
	}
	if kept < m.sure || kept < covered {
		m.t.Fatalf("%d groups are there, but %d were synced, %d have a checkpoint", kept, m.sure, covered)
	}
	m.want(everything, m.groups[gone:kept])
	m.want(m.scan(from), m.groups[max(gone, covered):kept])
	m.groups, m.sure, m.covered, m.dropped = m.groups[:kept], kept, []int{covered}, min(m.dropped, kept)
}

// record is one that was found.
type record struct {
	at   journal.Pos
	text string
}

func ends(all []record, g group) bool {
	return len(all) > 0 && all[len(all)-1].text == g.records[len(g.records)-1]
}

func (m *model) want(all []record, groups []group) {
	m.t.Helper()
	var want []record
	for _, g := range groups {
		at := g.at
		for _, r := range g.records {
			want = append(want, record{at, r})
			at = journal.After(at, len(r))
		}
	}
	if !slices.Equal(all, want) {
		m.t.Fatalf("the log has\n%v\nwant\n%v", all, want)
	}
}

func (m *model) scan(from journal.Pos) (all []record) {
	m.t.Helper()
	var buf []byte
	err := m.log.Scan(from, func(p journal.Pos, r []byte) (err error) {
		all = append(all, record{p, string(r)})
		buf, err = m.log.Read(p, buf)
		if err == nil && string(buf) != string(r) {
			err = fmt.Errorf("at %d Read finds %q, Scan %q", p, buf, r)
		}
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}
