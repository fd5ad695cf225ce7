package journal

import (
	"encoding/binary"
	"errors"
	"io"

	"quartet/kit/journal/disk"
)

// errNoFrame says that the bytes at this place are no frame.
var errNoFrame = errors.New("no intact record")

// readAhead is how much of a file is read at once.
const readAhead = 64 << 10

// frames reads the frames of a file one after the other.
type frames struct {
	file disk.File
	seed seed
	base Pos   // of the file's first byte
	off  int64 // in the file, of the next frame
	end  int64 // in the file, where they end

	buf   []byte // owned
	begin int64  // in the file, of buf
}

// next returns the next frame, valid until the call after, and goes past it. At
// the end it returns io.EOF, at something else than a frame errNoFrame; it then
// stays where it is.
func (r *frames) next() (frame, error) {
	if r.off == r.end {
		return frame{}, io.EOF
	}
	b, err := r.window(frameBytes)
	if err != nil {
		return frame{}, err
	}
	size, ok := frameSize(binary.LittleEndian.Uint32(b[4:]))
	if !ok {
		return frame{}, errNoFrame
	}
	if b, err = r.window(size); err != nil {
		return frame{}, err
	}
	f, ok := r.seed.parse(r.pos(), b)
	if !ok {
		return frame{}, errNoFrame
	}
	r.off += size
	return f, nil
}

// pos is the position of the next frame.
func (r *frames) pos() Pos { return r.base + Pos(r.off) }

// window returns the next n bytes. More than there are is no frame.
func (r *frames) window(n int64) ([]byte, error) {
	if n > r.end-r.off {
		return nil, errNoFrame
	}
	if from := r.off - r.begin; from >= 0 && from+n <= int64(len(r.buf)) {
		return r.buf[from : from+n], nil
	}
	size := min(max(n, readAhead), r.end-r.off)
	if int64(cap(r.buf)) < size {
		r.buf = make([]byte, size)
	}
	r.buf, r.begin = r.buf[:size], r.off
	if err := readFull(r.file, r.buf, r.off); err != nil {
		r.buf = r.buf[:0]
		return nil, err
	}
	return r.buf[:n], nil
}

// readFull fills b. What should be there and is not is an error other than
// io.EOF.
func readFull(f disk.File, b []byte, off int64) error {
	n, err := f.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// lastMark looks for marks from r.off on, at every offset, and returns the
// largest number in one. That no mark is missed is worth reading every byte: it
// happens only where a file is torn or damaged.
func (r *frames) lastMark() (Pos, error) {
	var most Pos
	for ; r.off+markBytes <= r.end; r.off++ {
		b, err := r.window(markBytes)
		if err != nil {
			return 0, err
		}
		if binary.LittleEndian.Uint32(b[4:]) != markFlag|8 {
			continue
		}
		if f, ok := r.seed.parse(r.pos(), b); ok {
			most = max(most, Pos(f.mark()))
		}
	}
	return most, nil
}
