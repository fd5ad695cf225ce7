package bus

import (
	"container/heap"
	"time"
)

// A timer is a moment at which something is overdue. It lies inside what it is
// about, so that setting it allocates nothing.
type timer struct {
	at    time.Time
	fire  func()
	index int // in the heap, counted from 1; 0 is not set
}

// timers is a heap by time.
type timers []*timer

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].at.Before(t[j].at) }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i+1, j+1
}
func (t *timers) Push(x any) {
	x.(*timer).index = len(*t) + 1
	*t = append(*t, x.(*timer))
}
func (t *timers) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	last.index = 0
	return last
}

// set lets t fire after d, at the end of a turn: of this one for a d of 0. A
// negative d means never.
func (b *Bus) set(t *timer, d time.Duration) {
	b.cancel(t)
	if d < 0 {
		return
	}
	t.at = b.loop.now.Add(d)
	heap.Push(&b.loop.timers, t)
}

func (b *Bus) cancel(t *timer) {
	if t.index > 0 {
		heap.Remove(&b.loop.timers, t.index-1)
	}
}

// untilNext is how long the loop may wait: less than 0 is for ever.
func (b *Bus) untilNext() time.Duration {
	if len(b.loop.timers) == 0 {
		return -1
	}
	return max(0, b.loop.timers[0].at.Sub(b.loop.now))
}

// expire calls what is due.
func (b *Bus) expire() {
	for len(b.loop.timers) > 0 && !b.loop.timers[0].at.After(b.loop.now) {
		t := heap.Pop(&b.loop.timers).(*timer)
		b.attempt(t.fire)
	}
}
