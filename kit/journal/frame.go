package journal

import (
	"encoding/binary"
	"hash/crc32"
)

// The head of a file, little endian:
//
//	 0  kind of file and version, 8 bytes
//	 8  number of the log; of a checkpoint a number of its own
//	16  position of the file's first byte; of a checkpoint that of the first
//	    record that is not in it
//	24  up to where the log was synced when the file was made
//	32  CRC32C of the above
//	36  zeros
const headBytes = 40

// Kinds of files.
const (
	segmentMagic  = "qtjlog\x00\x01"
	snapshotMagic = "qtjsnap\x01"
)

// A frame, little endian:
//
//	0  CRC32C of what follows, begun with the seed and the position
//	4  length of the body and flags
//	8  the body
const frameBytes = 8

// The flags. A frame has one at least, so that zeros are none.
const (
	recordFlag uint32 = 1 << 29 // the body is a record
	moreFlag   uint32 = 1 << 30 // the next record belongs to the same Append
	markFlag   uint32 = 1 << 31 // the body is a number: see mark
	lengthMask        = recordFlag - 1
)

// markBytes is the size of the frame of a mark. Its body says, in a segment, up
// to where the log was synced, and at the end of a checkpoint, how many records
// it has.
const markBytes = frameBytes + 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seed is what the sums of a file's frames begin with.
type seed uint32

func newSeed(magic string, id uint64) seed {
	b := binary.LittleEndian.AppendUint64([]byte(magic), id)
	return seed(crc32.Checksum(b, castagnoli))
}

// sum is the CRC32C of a frame at that position, of b without its first 4
// bytes. Sums that begin differently end differently: a frame is valid at one
// position of all those less than 4 GiB apart.
func (s seed) sum(at Pos, b []byte) uint32 {
	start := uint32(s) ^ uint32(at) ^ uint32(at>>32)*0x9e3779b1
	return crc32.Update(start, castagnoli, b[4:])
}

// appendFrame adds a frame without its sum.
func appendFrame(b []byte, flags uint32, body []byte) []byte {
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, flags|uint32(len(body)))
	return append(b, body...)
}

// seal writes the sums of all frames in b, the first of which is at that
// position.
func (s seed) seal(at Pos, b []byte) {
	for len(b) > 0 {
		n := frameBytes + int(binary.LittleEndian.Uint32(b[4:])&lengthMask)
		binary.LittleEndian.PutUint32(b, s.sum(at, b[:n]))
		b, at = b[n:], at+Pos(n)
	}
}

// putMark writes a mark without its sum.
func putMark(b []byte, n int64) {
	binary.LittleEndian.PutUint32(b[4:], markFlag|8)
	binary.LittleEndian.PutUint64(b[frameBytes:], uint64(n))
}

// frameSize is what the word of a frame says about its size. ok is false for a
// word that no frame has.
func frameSize(word uint32) (n int64, ok bool) {
	n = int64(word & lengthMask)
	switch word &^ lengthMask {
	case recordFlag, recordFlag | moreFlag:
	case markFlag:
		ok = n == 8
		return frameBytes + n, ok
	default:
		return 0, false
	}
	return frameBytes + n, true
}

// frame is one that was read and is valid.
type frame struct {
	word uint32
	body []byte
}

func (f frame) isMark() bool { return f.word&markFlag != 0 }
func (f frame) isMore() bool { return f.word&moreFlag != 0 }

// mark is the number in a mark. Those of a log never come near the sign.
func (f frame) mark() int64 { return int64(binary.LittleEndian.Uint64(f.body)) }

// parse takes b, which is of the size that its word says, apart.
func (s seed) parse(at Pos, b []byte) (f frame, ok bool) {
	f = frame{word: binary.LittleEndian.Uint32(b[4:]), body: b[frameBytes:]}
	return f, s.sum(at, b) == binary.LittleEndian.Uint32(b)
}

// head is what the head of a file says.
type head struct {
	magic        string
	id           uint64
	base, synced Pos
}

func (h head) bytes() []byte {
	b := append(make([]byte, 0, headBytes), h.magic...)
	b = binary.LittleEndian.AppendUint64(b, h.id)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.base))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.synced))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return b[:headBytes]
}

func parseHead(b []byte) (h head, ok bool) {
	if len(b) < headBytes || crc32.Checksum(b[:32], castagnoli) != binary.LittleEndian.Uint32(b[32:]) ||
		binary.LittleEndian.Uint32(b[36:]) != 0 {
		return head{}, false
	}
	return head{
		magic:  string(b[:8]),
		id:     binary.LittleEndian.Uint64(b[8:]),
		base:   Pos(binary.LittleEndian.Uint64(b[16:])),
		synced: Pos(binary.LittleEndian.Uint64(b[24:])),
	}, true
}
