package wire

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// senderRoom is how much a SENDER field of n bytes adds to a header at most:
// its first eight bytes, the name with its NUL, and padding.
func senderRoom(n int) int { return 8 + (n+8)&^7 }

// Fits reports whether the message stays within MaxMessage and its header
// within MaxArray when it is forwarded with that sender. A message at the very
// limit may not: its recipients would have to hang up on the bus.
func (m *Message) Fits(sender string) bool {
	room := senderRoom(len(sender))
	return m.HeaderLen+room <= MaxArray && m.HeaderLen+m.BodyLen+room <= MaxMessage
}

// AppendHeader appends the header as the bus forwards it: SENDER is sender
// (none when that is ""), fields unknown to this bus are left out, all else is
// as it came, in the sender's byte order. The padding to the body is included,
// so the body follows as it is. dst may have any length: the message begins at
// len(dst) and is aligned to that. It allocates only when dst must grow.
//
// m must have been parsed, and the bytes it was parsed from must be unchanged.
func (m *Message) AppendHeader(dst []byte, sender string) []byte {
	start := len(dst)
	dst = slices.Grow(dst, len(m.header)+senderRoom(len(sender)))
	out := dst[start:cap(dst)]
	var end int // of the fields, in out
	if m.dropFrom == 0 {
		copy(out, m.header)
		end = m.fields
	} else {
		end = m.copyKept(out)
	}
	total := (end + 7) &^ 7
	if sender != "" {
		size := uint32(len(sender))
		if m.BigEndian {
			size = bits.ReverseBytes32(size)
		}
		at := total
		total += senderRoom(len(sender))
		end = at + 8 + len(sender) + 1
		binary.LittleEndian.PutUint64(out[at:], fieldSender|1<<8|'s'<<16|uint64(size)<<32)
		binary.LittleEndian.PutUint64(out[total-8:], 0) // NUL and padding
		copy(out[at+8:], sender)
	}
	size := uint32(end - FixedHeader)
	if m.BigEndian {
		size = bits.ReverseBytes32(size)
	}
	binary.LittleEndian.PutUint32(out[12:], size)
	return dst[:start+total]
}

// copyKept copies the header without the fields that are not forwarded and
// returns where the fields end in out. The last word is padded. Fields begin at
// multiples of 8 and are moved by multiples of 8, so what is in them stays
// aligned.
func (m *Message) copyKept(out []byte) (end int) {
	end = m.keptEnd
	to := copy(out, m.header[:m.dropFrom])
	for p := m.dropFrom; p < m.fields; {
		next := m.fieldEnd(p)
		padded := (next + 7) &^ 7
		if code := m.header[p]; int(code) < len(fieldTypes) && code != fieldSender {
			copy(out[to:], m.header[p:padded])
			end = to + next - p
			to += padded - p
		}
		p = padded
	}
	return end
}

// fieldEnd returns where the value ends of the field at p of a parsed header.
func (m *Message) fieldEnd(p int) int {
	code := m.header[p]
	if int(code) >= len(fieldTypes) {
		d := Decoder{b: m.header[:m.fields], pos: p + 1, big: m.BigEndian}
		d.Skip("v")
		return d.pos
	}
	switch fieldTypes[code] {
	case 'u':
		return p + 8
	case 'g':
		return p + 5 + int(m.header[p+4]) + 1
	}
	size := load32(m.header, p+4)
	if m.BigEndian {
		size = bits.ReverseBytes32(size)
	}
	return p + 8 + int(size) + 1
}
