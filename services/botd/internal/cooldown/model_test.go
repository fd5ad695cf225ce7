package cooldown_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/store"
)

// model is the plainest gate: a list of waits and, for each key, what the disk says.
type model struct {
	waits []*modelWait
	disk  map[string]modelWait
}

type modelWait struct {
	key   string
	use   int
	at    time.Time
	limit time.Duration
	kept  bool
	maybe bool // was over, and the clock went back: the gate may have removed it or not
	told  map[string]bool
}

func (w *modelWait) left(now time.Time) time.Duration { return max(w.at.Add(w.limit).Sub(now), 0) }

type modelKey struct {
	key   string
	limit time.Duration
}

// keys are what a use waits for, in the order of the gate.
func keys(u cooldown.Use, l cooldown.Limits) []modelKey {
	all := []modelKey{{"user " + u.Person + " " + u.Command, l.User}}
	if u.Group != "" {
		all = append(all, modelKey{"user group " + u.Person + " " + u.Group + " " + u.Command, l.UserGroup})
		all = append(all, modelKey{"group " + u.Group + " " + u.Command, l.Group})
	}
	all = append(all, modelKey{"command " + u.Command, l.Command}, modelKey{"global", l.Global})
	return slices.DeleteFunc(all, func(k modelKey) bool { return k.limit == 0 })
}

// failure is what a person waits for after a use that failed.
func failure(u cooldown.Use) string { return "failure " + u.Person + " " + u.Command }

// running is the wait that is over last; certain does not count what may be.
func (m *model) running(all []modelKey, now time.Time, certain bool) (last *modelWait) {
	for _, k := range all {
		for _, w := range m.waits {
			if w.key == k.key && w.left(now) > 0 && !(certain && w.maybe) && (last == nil || w.left(now) > last.left(now)) {
				last = w
			}
		}
	}
	return last
}

func (m *model) remove(gone func(*modelWait) bool) { m.waits = slices.DeleteFunc(m.waits, gone) }

// written puts the kept waits of a use on the disk, unless a later one is there.
func (m *model) written(waits []modelWait) {
	for _, w := range waits {
		switch there := m.disk[w.key]; {
		case there.use <= w.use:
			m.disk[w.key] = w
		case there.maybe: // and if it is not, this one is
			m.perhaps(w)
		}
	}
}

// perhaps is for a wait that may be on the disk in place of the one that is there:
// one stands for both, as long as the longer.
func (m *model) perhaps(w modelWait) {
	there := m.disk[w.key]
	if there.at.After(w.at) {
		w.at = there.at
	}
	w.use, w.limit, w.maybe = max(w.use, there.use), max(w.limit, there.limit), true
	m.disk[w.key] = w
}

func (m *model) undone(waits []modelWait) {
	for _, w := range waits {
		if m.disk[w.key].use == w.use {
			delete(m.disk, w.key)
		}
	}
}

// compacted is the disk after the gate's own account replaced it. Of what is over
// that may have more or less.
func (m *model) compacted(now time.Time) {
	for key, w := range m.disk {
		w.maybe = true
		m.disk[key] = w
		if w.left(now) > 0 {
			delete(m.disk, key) // or it is below
		}
	}
	for _, w := range m.waits {
		if w.kept && w.left(now) == 0 {
			m.perhaps(*w)
		}
	}
	for _, w := range m.waits {
		if w.kept && w.left(now) > 0 {
			m.disk[w.key] = *w
		}
	}
}

// restarted is what a gate knows that was killed at before and starts at now.
func (m *model) restarted(before, now time.Time) {
	m.waits = nil
	for _, key := range slices.Sorted(maps.Keys(m.disk)) {
		w := m.disk[key]
		w.maybe = w.maybe || w.left(before) == 0
		if w.at.After(now) {
			w.at = now
		}
		w.kept, w.told = true, map[string]bool{}
		m.waits = append(m.waits, &w)
	}
}

// play is one run of both.
type play struct {
	*testing.T
	rnd   *rand.Rand
	back  bool // clocks may go back at a restart
	model model
	life  *life
	now   time.Time
	uses  int
	held  []*held
	count struct{ passed, refused, restarts, refunds, failures int }
}

// held is a use whose command runs.
type held struct {
	use         cooldown.Use
	number      int
	reservation *cooldown.Reservation
	pending     []func() // what is still to be written, in order
	done        bool
}

// Uses, answers, refunds, late writes, checkpoints, kills, losses of power and
// clocks that jump, at random: the gate does what the model does.
func TestGateAgreesWithModel(t *testing.T) {
	var all play
	for seed := range uint64(24) {
		p := &play{
			T: t, rnd: rand.New(rand.NewPCG(seed, 7)), back: seed%2 == 1, now: start,
			model: model{disk: map[string]modelWait{}}, life: begin(t, powerloss.New()),
		}
		for range 1500 {
			p.step()
			if t.Failed() {
				t.Fatalf("with seed %d", seed)
			}
		}
		all.count.passed += p.count.passed
		all.count.refused += p.count.refused
		all.count.restarts += p.count.restarts
		all.count.refunds += p.count.refunds
		all.count.failures += p.count.failures
	}
	t.Logf("%+v", all.count)
}

func (p *play) step() {
	p.now = p.now.Add(time.Duration(p.rnd.IntN(int(s))))
	switch n := p.rnd.IntN(100); {
	case n < 40:
		p.reserve()
	case n < 60:
		p.keep(p.any())
	case n < 68:
		p.refund(p.any())
	case n < 88:
		p.write(p.any())
	case n < 90:
		must(p.T, p.life.gate.Tidy(p.now))
	case n < 94:
		must(p.T, p.life.book.Compact())
		p.model.compacted(p.now)
	case n < 99:
		p.restart()
	default:
		p.now = p.now.Add(30 * s)
	}
	if !p.life.gate.Sound() {
		p.Error("the gate's parts do not agree")
	}
}

var commands = map[string]cooldown.Limits{
	"kot":   {User: 5 * s},
	"obraz": {User: 3 * s, UserGroup: 7 * s, Group: 2 * s, Command: s},
	"pies":  {Group: 10 * s, Global: s / 2},
	"ja":    {Global: 4 * s},
	"pomoc": {},
}

func (p *play) reserve() {
	command := []string{"kot", "obraz", "pies", "ja", "pomoc"}[p.rnd.IntN(5)]
	l := commands[command]
	u := use(fmt.Sprint("p", p.rnd.IntN(3)), []string{"", "cats", "dogs"}[p.rnd.IntN(3)], command)
	all := keys(u, l)
	before := slices.Clone(all)
	if len(all) > 0 {
		before = append(before, modelKey{key: failure(u)})
	}
	surely, perhaps := p.model.running(before, p.now, true), p.model.running(before, p.now, false)
	r, refusal, ok := p.life.gate.Reserve(u, l, p.now)
	switch {
	case ok && surely != nil:
		p.Errorf("%+v passed, and %s runs", u, surely.key)
	case ok:
		p.passed(u, all, r)
	case perhaps == nil:
		p.Errorf("%+v was refused: %+v", u, refusal)
	default:
		p.refused(u, refusal, surely, perhaps)
	}
}

func (p *play) passed(u cooldown.Use, all []modelKey, r *cooldown.Reservation) {
	p.count.passed++
	p.uses++
	for _, k := range all {
		p.model.remove(func(w *modelWait) bool { return w.key == k.key && w.maybe })
		p.model.waits = append(p.model.waits, &modelWait{key: k.key, use: p.uses, at: p.now, limit: k.limit, told: map[string]bool{}})
	}
	if (r == nil) != (len(all) == 0) {
		p.Errorf("a reservation of %d waits is %v", len(all), r)
	}
	h := &held{use: u, number: p.uses, reservation: r}
	p.held = append(p.held, h)
	switch p.rnd.IntN(8) {
	case 0, 1, 2, 3: // its answer begins at once
		p.keep(h)
		p.write(h)
	case 4: // or in a while there is none
		p.now = p.now.Add(time.Duration(p.rnd.IntN(int(2 * s))))
		p.fail(h)
	}
}

func (p *play) refused(u cooldown.Use, refusal cooldown.Refusal, surely, perhaps *modelWait) {
	p.count.refused++
	if surely == perhaps {
		told := surely.told[u.Person]
		if refusal.Wait != surely.left(p.now) || refusal.First == told && !p.back {
			p.Errorf("%+v: refused %+v, the model has %v, told %t", u, refusal, surely.left(p.now), told)
		}
		surely.told[u.Person] = true
		return
	}
	if refusal.Wait > perhaps.left(p.now) || surely != nil && refusal.Wait < surely.left(p.now) {
		p.Errorf("%+v: refused %+v, the model has at most %v", u, refusal, perhaps.left(p.now))
	}
}

// any is a use whose command runs, often one of the last, nil if there is none.
func (p *play) any() *held {
	p.held = slices.DeleteFunc(p.held, func(h *held) bool { return h.done && len(h.pending) == 0 })
	if len(p.held) == 0 {
		return nil
	}
	recent := p.held
	if p.rnd.IntN(4) > 0 {
		recent = recent[max(len(recent)-3, 0):]
	}
	return recent[p.rnd.IntN(len(recent))]
}

func (p *play) keep(h *held) {
	if h == nil || h.done {
		return
	}
	records := h.reservation.Records(p.now)
	var waits []modelWait
	for _, w := range p.model.waits {
		if w.use == h.number && w.left(p.now) > 0 {
			w.kept = true
			waits = append(waits, *w)
		}
	}
	if len(records) != len(waits) {
		p.Errorf("%d records of %d waits", len(records), len(waits))
	}
	h.pending = append(h.pending, func() { p.append(records); p.model.written(waits) })
}

func (p *play) fail(h *held) {
	p.count.failures++
	h.reservation.Fail(2 * s)
	h.done = true
	var last *modelWait
	for _, w := range p.model.waits {
		if w.use == h.number && (last == nil || w.left(p.now) > last.left(p.now)) {
			last = w
		}
	}
	p.model.remove(func(w *modelWait) bool { return w.use == h.number })
	if last != nil {
		p.model.waits = append(p.model.waits, &modelWait{key: failure(h.use), at: last.at, limit: min(last.limit, 2*s), told: map[string]bool{}})
	}
}

func (p *play) refund(h *held) {
	if h == nil {
		return
	}
	p.count.refunds++
	var waits []modelWait
	for _, w := range p.model.waits {
		if w.use == h.number {
			waits = append(waits, *w)
		}
	}
	for key, w := range p.model.disk { // written, and over since
		if w.use == h.number && !slices.ContainsFunc(waits, func(w modelWait) bool { return w.key == key }) {
			waits = append(waits, w)
		}
	}
	undo := h.reservation.Refund()
	p.model.remove(func(w *modelWait) bool { return w.use == h.number })
	h.done = true
	h.pending = append(h.pending, func() { p.append(undo); p.model.undone(waits) })
}

// write writes the next of what one use has to be written.
func (p *play) write(h *held) {
	if h != nil && len(h.pending) > 0 {
		h.pending[0]()
		h.pending = h.pending[1:]
	}
}

func (p *play) append(records []store.Record) { must(p.T, p.life.book.Append(records...)) }

// restart kills the bot, takes the power away, or moves what is known to another
// disk, and sets the clock.
func (p *play) restart() {
	p.count.restarts++
	switch p.rnd.IntN(3) {
	case 0:
		p.life = p.life.killed(p.T)
	case 1:
		fs := p.life.fs.Crash(p.rnd)
		p.life.book.Close()
		p.life = begin(p.T, fs)
	case 2:
		p.model.compacted(p.now)
		next := begin(p.T, powerloss.New())
		must(p.T, p.life.gate.Dump(next.gate.Apply))
		must(p.T, next.book.Compact())
		must(p.T, p.life.book.Close())
		p.life = next
	}
	before := p.now
	p.now = p.now.Add(time.Duration(p.rnd.IntN(int(3 * s)))) // it was down
	switch n := p.rnd.IntN(4); {
	case n == 0:
		p.now = p.now.Add(time.Hour)
	case n == 1 && p.back:
		p.now = p.now.Add(-time.Duration(p.rnd.IntN(int(20 * s))))
	case n == 2 && p.back:
		p.now = p.now.Add(-time.Hour)
	}
	p.held = nil
	p.model.restarted(before, p.now)
	must(p.T, p.life.gate.Tidy(p.now))
	if slices.ContainsFunc(slices.Collect(maps.Values(p.model.disk)), func(w modelWait) bool { return w.at.After(p.now) }) {
		p.model.compacted(p.now)
	}
}
