// Package stopwatch measures from outside how long a bot takes: from a question
// to the request by which it is answered.
//
// Guarantee: an answer that quotes belongs to the question it quotes, and no
// answer belongs to two. Memory is bounded: of questions that nobody answers
// the oldest are forgotten, and counted; of times the newest are kept.
//
// Without a quote it takes the question that has waited longest in that chat,
// which is a guess where answers overtake one another.
package stopwatch

import (
	"container/list"
	"slices"
	"sync"
	"time"
)

const (
	maxOpen    = 65_536
	maxSamples = 262_144
	maxChats   = 65_536 // pairs of person and chat whose order is watched
)

// Question is something that a bot is to answer.
type Question struct {
	Sender    string
	Group     string // "" in a direct chat
	Timestamp int64
	EditOf    int64     // set for a new text of an earlier message, which an answer may quote instead
	Due       time.Time // when it should have been asked
	Asked     time.Time // when it was
}

func (q Question) chat() string {
	if q.Group != "" {
		return q.Group
	}
	return q.Sender
}

// Answer is what a bot sends.
type Answer struct {
	Chat   string // the group, or the person
	Author string // of the question that is quoted; "" when none is
	Quotes int64  // its timestamp
	At     time.Time
}

type key struct {
	sender    string
	timestamp int64
}

type pair struct{ sender, chat string }

type question struct {
	Question
	seq     uint64
	inAll   *list.Element
	inChat  *list.Element
	waiting *list.List // of its chat
}

// Watch is a stopwatch. Make it with New; it is safe for use by several goroutines.
type Watch struct {
	mu      sync.Mutex
	open    map[key]*question     // guarded by mu, as all of them
	all     *list.List            // of *question, oldest first
	chats   map[string]*list.List // the same by chat
	latest  map[pair]uint64       // number of the newest question answered, by person and chat
	asked   uint64
	counts  counts
	samples []sample // a ring once it is full
}

type sample struct{ asked, due time.Duration }

type counts struct {
	answered, forgotten, byQuote, byOrder, unmatched, outOfOrder int64
}

// New makes a stopwatch at rest.
func New() *Watch {
	w := &Watch{}
	w.Clear()
	return w
}

// Clear forgets everything.
func (w *Watch) Clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open, w.all, w.chats = map[key]*question{}, list.New(), map[string]*list.List{}
	w.latest, w.asked, w.counts, w.samples = map[pair]uint64{}, 0, counts{}, nil
}

// Ask notes a question. One that is open already is the same.
func (w *Watch) Ask(asked Question) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := key{asked.Sender, asked.Timestamp}
	if w.open[k] != nil {
		return
	}
	w.asked++
	q := &question{Question: asked, seq: w.asked}
	q.waiting = w.chats[q.chat()]
	if q.waiting == nil {
		q.waiting = list.New()
		w.chats[q.chat()] = q.waiting
	}
	if old := (key{asked.Sender, asked.EditOf}); asked.EditOf != 0 && w.open[old] == nil {
		w.open[old] = q
	}
	w.open[k], q.inAll, q.inChat = q, w.all.PushBack(q), q.waiting.PushBack(q)
	if w.all.Len() > maxOpen {
		w.drop(w.all.Front().Value.(*question))
		w.counts.forgotten++
	}
}

func (w *Watch) drop(q *question) {
	w.all.Remove(q.inAll)
	q.waiting.Remove(q.inChat)
	if q.waiting.Len() == 0 {
		delete(w.chats, q.chat())
	}
	for _, k := range []key{{q.Sender, q.Timestamp}, {q.Sender, q.EditOf}} {
		if w.open[k] == q {
			delete(w.open, k)
		}
	}
}

// Answer notes an answer.
func (w *Watch) Answer(a Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.find(a)
	if q == nil {
		w.counts.unmatched++
		return
	}
	w.drop(q)
	p := pair{q.Sender, q.chat()}
	if w.latest[p] > q.seq {
		w.counts.outOfOrder++
	} else if _, known := w.latest[p]; known || len(w.latest) < maxChats {
		w.latest[p] = q.seq
	}
	s := sample{a.At.Sub(q.Asked), a.At.Sub(q.Due)}
	if len(w.samples) < maxSamples {
		w.samples = append(w.samples, s)
	} else {
		w.samples[w.counts.answered%maxSamples] = s
	}
	w.counts.answered++
}

func (w *Watch) find(a Answer) *question {
	if a.Quotes != 0 {
		q := w.open[key{a.Author, a.Quotes}]
		if q != nil {
			w.counts.byQuote++
		}
		return q
	}
	waiting := w.chats[a.Chat]
	if waiting == nil {
		return nil
	}
	w.counts.byOrder++
	return waiting.Front().Value.(*question)
}

// Spread describes the times of many answers, in milliseconds.
type Spread struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean_ms"`
	P50   float64 `json:"p50_ms"`
	P95   float64 `json:"p95_ms"`
	P99   float64 `json:"p99_ms"`
	P999  float64 `json:"p999_ms"`
	Max   float64 `json:"max_ms"`
}

// Report is what was measured.
type Report struct {
	Asked      uint64 `json:"asked"`
	Answered   int64  `json:"answered"`
	Open       int    `json:"open"`
	Forgotten  int64  `json:"forgotten"` // questions dropped unanswered, because too many were open
	ByQuote    int64  `json:"by_quote"`
	ByOrder    int64  `json:"by_order"`
	Unmatched  int64  `json:"unmatched"`    // sends that answer no open question
	OutOfOrder int64  `json:"out_of_order"` // answers to a person that came behind one to a later question of theirs in that chat
	Emission   Spread `json:"emission"`     // from the question
	Due        Spread `json:"due"`          // from when it should have been asked
}

// Report computes what was measured so far.
func (w *Watch) Report() Report {
	w.mu.Lock()
	c := w.counts
	r := Report{
		Asked: w.asked, Answered: c.answered, Open: w.all.Len(), Forgotten: c.forgotten,
		ByQuote: c.byQuote, ByOrder: c.byOrder, Unmatched: c.unmatched, OutOfOrder: c.outOfOrder,
	}
	samples := slices.Clone(w.samples)
	w.mu.Unlock()
	times := make([]time.Duration, len(samples))
	for i, s := range samples {
		times[i] = s.asked
	}
	r.Emission = spread(times)
	for i, s := range samples {
		times[i] = s.due
	}
	r.Due = spread(times)
	return r
}

// spread sorts times.
func spread(times []time.Duration) Spread {
	if len(times) == 0 {
		return Spread{}
	}
	slices.Sort(times)
	var sum time.Duration
	for _, t := range times {
		sum += t
	}
	at := func(share float64) float64 { // the smallest time that at least that share is not above
		i := int(share * float64(len(times)))
		if float64(i) == share*float64(len(times)) && i > 0 {
			i--
		}
		return ms(times[min(i, len(times)-1)])
	}
	return Spread{
		Count: len(times), Mean: ms(sum) / float64(len(times)), P50: at(0.5), P95: at(0.95), P99: at(0.99), P999: at(0.999), Max: ms(times[len(times)-1]),
	}
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
