package cooldown

// soonest is a heap of entries, the one that is over first at the front. Each
// knows its place.
type soonest []*entry

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (s soonest) Len() int           { return len(s) }
func (s soonest) Less(i, j int) bool { return s[i].over() < s[j].over() }

func (s soonest) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i, j
}

func (s *soonest) Push(x any) {
	e := x.(*entry)
	e.place = len(*s)
	*s = append(*s, e)
}

func (s *soonest) Pop() any {
	last := len(*s) - 1
	e := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return e
}
