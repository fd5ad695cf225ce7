package powerloss

import (
	"math/rand/v2"
	"slices"
)

// page is the unit in which unsynced bytes reach a disk or do not: the sector
// that disks write whole, rather than the larger pages of a kernel, so that
// small files of tests have several.
const page = 512

// inode is the content of a file. Guarded by FS.mu.
type inode struct {
	data []byte // what the process reads
	safe []byte // what is on the disk

	dirty    []span // of data, changed since the last sync
	lost     []span // likewise, but forgotten by the kernel when a sync failed
	shortest int    // the least length since the last sync
	before   []byte // what it was when it was longest since then, and then cut
}

// span is a range of bytes.
type span struct{ from, to int }

func newInode(data []byte) *inode {
	return &inode{data: slices.Clone(data), safe: slices.Clone(data), shortest: len(data)}
}

func (n *inode) write(p []byte, off int) {
	if len(p) == 0 {
		return
	}
	old := len(n.data)
	if end := off + len(p); end > old {
		n.data = append(n.data, make([]byte, end-old)...)
	}
	copy(n.data[off:], p)
	n.touch(span{min(off, old), off + len(p)})
}

func (n *inode) truncate(size int) {
	old := len(n.data)
	if size < old {
		if old > len(n.before) {
			n.before = n.data
		}
		n.data = slices.Clone(n.data[:size])
	} else {
		n.data = append(n.data, make([]byte, size-old)...)
	}
	n.shortest = min(n.shortest, size)
	n.touch(span{min(size, old), max(size, old)})
}

// touch makes a range dirty. What was lost and is written anew is not lost.
func (n *inode) touch(s span) {
	if last := len(n.dirty) - 1; last >= 0 && n.dirty[last].to == s.from {
		n.dirty[last].to = s.to
	} else {
		n.dirty = append(n.dirty, s)
	}
	var lost []span
	for _, l := range n.lost {
		if l.from < s.from {
			lost = append(lost, span{l.from, min(l.to, s.from)})
		}
		if l.to > s.to {
			lost = append(lost, span{max(l.from, s.to), l.to})
		}
	}
	n.lost = lost
}

func (n *inode) sync() {
	safe := slices.Clone(n.data)
	for _, l := range n.lost {
		for i := l.from; i < min(l.to, len(safe)); i++ {
			safe[i] = 0
			if i < len(n.safe) {
				safe[i] = n.safe[i]
			}
		}
	}
	n.safe, n.dirty, n.shortest, n.before = safe, nil, len(safe), nil
}

func (n *inode) failSync() {
	n.lost = append(n.lost, n.dirty...)
	n.dirty = nil
}

// crash returns the file after a loss of power.
func (n *inode) crash(rng *rand.Rand) *inode {
	if len(n.dirty)+len(n.lost) == 0 {
		return newInode(n.safe)
	}
	size := n.shortest + rng.IntN(max(len(n.data), len(n.safe), len(n.before))-n.shortest+1)
	switch rng.IntN(5) {
	case 0:
		size = len(n.data)
	case 1:
		size = len(n.safe)
	case 2:
		size = max(len(n.data), len(n.before))
	}
	unsafe := n.unsafe(size)
	after, fresh := sized(n.safe, size), sized(n.before, size)
	copy(fresh, n.data)
	everything := rng.IntN(3) == 0 // arrived, up to the length
	for from := 0; from < size; from += page {
		to := min(from+page, size)
		if !everything {
			fate(rng, fresh[from:to], after[from:to])
		}
		for i := from; i < to; i++ {
			if unsafe[i] {
				after[i] = fresh[i]
			}
		}
	}
	return newInode(after)
}

// unsafe tells of each byte whether the crash decides about it.
func (n *inode) unsafe(size int) []bool {
	is := make([]bool, size)
	for _, spans := range [...][]span{n.dirty, n.lost} {
		for _, s := range spans {
			for i := s.from; i < min(s.to, size); i++ {
				is[i] = true
			}
		}
	}
	return is
}

// fate turns what was written to a page into what the crash makes of it.
func fate(rng *rand.Rand, fresh, old []byte) {
	switch rng.IntN(6) {
	case 0, 1: // it arrived
	case 2: // it did not
		copy(fresh, old)
	case 3:
		clear(fresh)
	case 4:
		for i := range fresh {
			fresh[i] = byte(rng.Uint32())
		}
	case 5: // torn
		cut := rng.IntN(len(fresh) + 1)
		copy(fresh[cut:], old[cut:])
	}
}

// sized is a copy of b of that size, with zeros where b has nothing.
func sized(b []byte, size int) []byte {
	s := make([]byte, size)
	copy(s, b)
	return s
}
