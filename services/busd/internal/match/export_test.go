package match

import "maps"

// ParseLong is Parse without the limit on length: canonical texts may be longer
// than what they were parsed from.
func ParseLong(text string) (Rule, error) { return parse(text) }

// Longest returns how many nodes the longest list of one key has, and Tables
// how many tables Find asks for a broadcast.
func (x *Index[O]) Longest() (longest int) {
	for _, t := range x.all {
		for n := range maps.Values(t.first) {
			length := 0
			for ; n != nil; n = n.next {
				length++
			}
			longest = max(longest, length)
		}
	}
	return longest
}

func (x *Index[O]) Tables() int { return len(x.all) }

// IsEmpty reports whether nothing is left in any part of the index.
func (x *Index[O]) IsEmpty() bool {
	return len(x.accounts) == 0 && len(x.tables) == 0 && len(x.mentions) == 0 &&
		len(x.all) == 0 && len(x.eavesdroppers) == 0 && x.total == 0
}
