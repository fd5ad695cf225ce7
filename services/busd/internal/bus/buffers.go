package bus

import "math/bits"

// Buffers of the bus thread come in sizes of powers of two from 1 KiB on, and
// are used again: in a steady state nothing is allocated.
const (
	smallestBuffer = 10 // 1 KiB, as a power of two
	bufferSizes    = 18 // up to 128 MiB, the largest message
	keptBytes      = 8 << 20
)

// memory is where messages lie.
type memory struct {
	inbuf   []byte // what is read, until it is handled
	buffers buffers
	bodies  []*body // free
	openFDs int     // of messages
}

// buffers keeps those that are free.
type buffers struct {
	free [bufferSizes][][]byte
	kept int // bytes in free
}

// get returns a buffer of n bytes, with whatever is in it.
func (b *buffers) get(n int) []byte {
	size := bits.Len(uint(max(n, 1)-1) >> smallestBuffer)
	if l := len(b.free[size]); l > 0 {
		buf := b.free[size][l-1]
		b.free[size] = b.free[size][:l-1]
		b.kept -= cap(buf)
		return buf[:n]
	}
	return make([]byte, n, 1<<(smallestBuffer+size))
}

// put takes back what get gave.
func (b *buffers) put(buf []byte) {
	if buf == nil || b.kept+cap(buf) > keptBytes {
		return
	}
	size := bits.Len(uint(cap(buf)-1) >> smallestBuffer)
	b.free[size] = append(b.free[size], buf)
	b.kept += cap(buf)
}

// drop lets go of everything that is kept, for a bus that has nothing to do.
func (b *buffers) drop() { *b = buffers{} }

// A body is a message too big to be copied: it lies where it was received, and
// everybody who gets it sends from there. A new header goes before it.
type body struct {
	data   []byte // the whole message as it came
	header int    // its old header, which nobody is sent
	refs   int
}

func (b *body) bytes() []byte { return b.data[b.header:] }

func (b *Bus) newBody(size int) *body {
	if l := len(b.memory.bodies); l > 0 {
		big := b.memory.bodies[l-1]
		b.memory.bodies = b.memory.bodies[:l-1]
		big.data, big.refs = b.memory.buffers.get(size), 1
		return big
	}
	return &body{data: b.memory.buffers.get(size), refs: 1}
}

// releaseBody gives back one use of a body.
func (b *Bus) releaseBody(big *body) {
	if big.refs--; big.refs > 0 {
		return
	}
	b.memory.buffers.put(big.data)
	*big = body{}
	b.memory.bodies = append(b.memory.bodies, big)
}
