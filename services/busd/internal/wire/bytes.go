package wire

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// Words are always loaded as little endian, so that a byte's place in memory
// is its place in the word: the checks of eight bytes at a time rely on it.
// Numbers of a big endian message are turned round afterwards.

func load32(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }

func load64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// bytesOf is the bytes of s, to be read only, without a copy.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// view is b[from:to] as a string without a copy. No other place makes a
// string so: it changes when b is reused.
func view(b []byte, from, to int) string {
	b = b[from:to]
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// refuse formats the reason of a violation. Callers on the hot path reach it
// only when they give up.
//
//go:noinline
func refuse(format string, args ...any) *Error {
	return &Error{fmt.Sprintf(format, args...)}
}
