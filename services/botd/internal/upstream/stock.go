package upstream

import (
	"slices"
	"sync"
)

// CatPoolStats are what a CatPool has, and counts since its start.
type CatPoolStats struct {
	Ready, Kept int
	Bytes       int64 // of both

	Warm   uint64 // pictures given that were ready
	Direct uint64 // fetched for whoever asked
	Again  uint64 // given another time, because there was none
	Failed uint64 // refills that came to nothing
}

// stock is the pictures of a CatPool: those that are ready and, behind them in
// rank, those that were given and can be given again.
type stock struct {
	wanted, keep int // how many of each

	mu    sync.Mutex
	ready []stocked // guarded by mu, as all below
	given []stocked // the longest ago first
	last  uint64    // the sum of the one given last
	full  bool      // there was no room for the last that came
	stats CatPoolStats
}

type stocked struct {
	Picture
	sum uint64 // tells it from others
}

// hungry says whether a picture is missing for which there may be room.
func (s *stock) hungry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ready) < s.wanted && !s.full
}

// put adds a picture, in the place of those that were given. One for which there
// is no room even so is lost, and no other is wanted before one is taken.
func (s *stock) put(fresh stocked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := int64(len(fresh.Data))
	s.trim(size)
	if s.full = s.stats.Bytes+size > maxStock; s.full {
		return
	}
	s.ready = append(s.ready, fresh)
	s.stats.Bytes += size
}

// take hands out a picture that is ready.
func (s *stock) take() (Picture, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pick(&s.ready)
	if ok {
		s.full = false
		s.stats.Warm++
	}
	return p, ok
}

// again hands out the picture that was given the longest ago.
func (s *stock) again() (Picture, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pick(&s.given)
	if ok {
		s.stats.Again++
	}
	return p, ok
}

// give notes that somebody has a picture that was not in stock.
func (s *stock) give(p stocked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Direct++
	s.handed(p)
}

func (s *stock) failed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Failed++
}

func (s *stock) count() CatPoolStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.stats
	c.Ready, c.Kept = len(s.ready), len(s.given)
	return c
}

// pick takes the first of a list that is not the one given last, if there is
// such, and hands it out. s.mu is held.
func (s *stock) pick(list *[]stocked) (Picture, bool) {
	if len(*list) == 0 {
		return Picture{}, false
	}
	at := max(slices.IndexFunc(*list, func(p stocked) bool { return p.sum != s.last }), 0)
	p := (*list)[at]
	*list = slices.Delete(*list, at, at+1)
	s.stats.Bytes -= int64(len(p.Data))
	s.handed(p)
	return p.Picture, true
}

// handed keeps a picture that was given. s.mu is held.
func (s *stock) handed(p stocked) {
	s.last = p.sum
	s.given = append(s.given, p)
	s.stats.Bytes += int64(len(p.Data))
	s.trim(0)
}

// trim forgets what was given the longest ago, until there are not too many and
// there is room for more bytes. s.mu is held.
func (s *stock) trim(room int64) {
	for len(s.given) > 0 && (len(s.given) > s.keep || s.stats.Bytes+room > maxStock) {
		s.stats.Bytes -= int64(len(s.given[0].Data))
		s.given = slices.Delete(s.given, 0, 1)
	}
}
