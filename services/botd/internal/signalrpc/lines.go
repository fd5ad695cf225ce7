package signalrpc

import (
	"bytes"
	"errors"
	"io"
)

// firstBuffer is the room for lines, in bytes, while they are of usual size.
const firstBuffer = 64 << 10

// lines takes a stream apart into lines, in one buffer that is used again.
type lines struct {
	from io.Reader
	max  int // bytes of the longest line that is kept

	buf        []byte
	start, end int   // buf[start:end] was read and not handed out
	seen       int   // buf[start:seen] has no end of line
	over       int64 // bytes of a line too long that were read past
}

func newLines(from io.Reader, longest int) *lines {
	return &lines{from: from, max: longest, buf: make([]byte, firstBuffer)}
}

// next returns the next line without its end, valid until the next call. Of one
// that is longer than allowed only the length is told. A line that the stream
// cuts is none: its error is io.ErrUnexpectedEOF.
func (l *lines) next() (line []byte, tooLong int64, err error) {
	for {
		if i := bytes.IndexByte(l.buf[l.seen:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.seen+i]
			l.seen += i + 1
			l.start = l.seen
			size := l.over + int64(len(line))
			l.over = 0
			if size > int64(l.max) {
				return nil, size, nil
			}
			return line, 0, nil
		}
		l.seen = l.end
		l.makeRoom()
		n, err := l.from.Read(l.buf[l.end:])
		l.end += n
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) && (l.over > 0 || l.start < l.end) {
				err = io.ErrUnexpectedEOF
			}
			return nil, 0, err
		}
	}
}

// makeRoom makes room for at least one more byte. A line that is already too
// long loses what there is of it.
func (l *lines) makeRoom() {
	if l.end-l.start > l.max {
		l.over += int64(l.end - l.start)
		l.start = l.end
	}
	switch {
	case l.start == l.end:
		l.start, l.end = 0, 0
		if len(l.buf) > firstBuffer {
			l.buf = make([]byte, firstBuffer) // do not keep the room of a giant
		}
	case l.end < len(l.buf):
	case l.start > 0:
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	default:
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	l.seen = l.end
}
