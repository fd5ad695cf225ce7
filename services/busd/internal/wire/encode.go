package wire

import "encoding/binary"

// Encoder writes messages in little endian, each behind what Buf holds. A
// message is Begin, the values of the header's Signature in order, End. The
// caller vouches for the values: names, text and nesting are not checked.
type Encoder struct {
	// Buf receives the bytes. It may be set between messages.
	Buf []byte

	start int  // where the message begins in Buf; alignment is relative to it
	body  int  // where its body begins
	long  bool // an array of it is longer than MaxArray, or all of it than MaxMessage
}

// Header is what Begin writes; fields that are "" or 0 are left out.
type Header struct {
	Type                         Type
	Flags                        Flags
	Serial, ReplySerial, UnixFDs uint32

	Path, Interface, Member, ErrorName string
	Destination, Sender, Signature     string
}

// Begin writes the header, padded to the body. The message begins at
// len(e.Buf), whatever that is.
func (e *Encoder) Begin(h Header) {
	e.start, e.long = len(e.Buf), false
	e.Buf = append(e.Buf, 'l', byte(h.Type), byte(h.Flags), 1)
	e.Uint32(0) // the body's length, see End
	e.Uint32(h.Serial)
	fields := e.OpenArray(8)
	e.fieldString(fieldPath, 'o', h.Path)
	e.fieldString(fieldInterface, 's', h.Interface)
	e.fieldString(fieldMember, 's', h.Member)
	e.fieldString(fieldErrorName, 's', h.ErrorName)
	e.fieldUint32(fieldReplySerial, h.ReplySerial)
	e.fieldString(fieldDestination, 's', h.Destination)
	e.fieldString(fieldSender, 's', h.Sender)
	if h.Signature != "" {
		e.field(fieldSignature, 'g')
		e.Signature(h.Signature)
	}
	e.fieldUint32(fieldUnixFDs, h.UnixFDs)
	e.CloseArray(fields)
	e.align(8)
	e.body = len(e.Buf)
}

func (e *Encoder) field(code, kind byte) {
	e.Struct()
	e.Buf = append(e.Buf, code, 1, kind, 0)
}

func (e *Encoder) fieldString(code, kind byte, s string) {
	if s != "" {
		e.field(code, kind)
		e.String(s)
	}
}

func (e *Encoder) fieldUint32(code byte, v uint32) {
	if v != 0 {
		e.field(code, 'u')
		e.Uint32(v)
	}
}

// End completes the message that Begin began.
func (e *Encoder) End() {
	e.long = e.long || len(e.Buf)-e.start > MaxMessage
	binary.LittleEndian.PutUint32(e.Buf[e.start+4:], uint32(len(e.Buf)-e.body))
}

// TooLong says whether the message that End has completed is longer than
// messages may be, or an array of it than arrays: nobody may be sent it.
func (e *Encoder) TooLong() bool { return e.long }

// align appends padding to a multiple of n bytes, a power of 2 up to 8.
func (e *Encoder) align(n int) {
	var zeros [8]byte
	e.Buf = append(e.Buf, zeros[:-(len(e.Buf)-e.start)&(n-1)]...)
}

// Byte writes a y.
func (e *Encoder) Byte(v byte) { e.Buf = append(e.Buf, v) }

// Bool writes a b.
func (e *Encoder) Bool(v bool) {
	var n uint32
	if v {
		n = 1
	}
	e.Uint32(n)
}

// Int32 writes an i.
func (e *Encoder) Int32(v int32) { e.Uint32(uint32(v)) }

// Uint32 writes a u or h.
func (e *Encoder) Uint32(v uint32) {
	e.align(4)
	e.Buf = binary.LittleEndian.AppendUint32(e.Buf, v)
}

// Uint64 writes a t.
func (e *Encoder) Uint64(v uint64) {
	e.align(8)
	e.Buf = binary.LittleEndian.AppendUint64(e.Buf, v)
}

// String writes an s.
func (e *Encoder) String(s string) {
	e.Uint32(uint32(len(s)))
	e.Buf = append(append(e.Buf, s...), 0)
}

// ObjectPath writes an o.
func (e *Encoder) ObjectPath(s string) { e.String(s) }

// Signature writes a g.
func (e *Encoder) Signature(s string) {
	e.Buf = append(append(append(e.Buf, byte(len(s))), s...), 0)
}

// OpenArray begins an array whose elements are aligned to elemAlign bytes; the
// elements follow, then CloseArray with the mark.
func (e *Encoder) OpenArray(elemAlign int) (mark int) {
	e.align(4)
	mark = len(e.Buf)
	e.Buf = append(e.Buf, 0, 0, 0, 0)
	e.align(elemAlign)
	// Until CloseArray the length says how much padding is not counted in it.
	e.Buf[mark] = byte(len(e.Buf) - mark - 4)
	return mark
}

// CloseArray ends the array that mark is of.
func (e *Encoder) CloseArray(mark int) {
	size := len(e.Buf) - mark - 4 - int(e.Buf[mark])
	e.long = e.long || size > MaxArray
	binary.LittleEndian.PutUint32(e.Buf[mark:], uint32(size))
}

// Struct begins a struct; its members follow, and nothing marks its end.
func (e *Encoder) Struct() { e.align(8) }

// DictEntry begins a dict entry; its key and value follow.
func (e *Encoder) DictEntry() { e.align(8) }

// Variant begins a variant of one value of type sig, which follows.
func (e *Encoder) Variant(sig string) { e.Signature(sig) }
