package upstream

import (
	"bytes"
	"encoding/binary"
	"iter"
)

const (
	startOfProgressive = 0xc2
	startOfScan        = 0xda
	appOne             = 0xe1
	exifOrientation    = 0x0112
)

// segments are those of a JPEG file's head, up to its first scan, with what is
// in each.
func segments(file []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		if len(file) < 2 || file[0] != 0xff || file[1] != 0xd8 {
			return
		}
		for rest := file[2:]; len(rest) >= 4 && rest[0] == 0xff; {
			kind, length := rest[1], int(binary.BigEndian.Uint16(rest[2:]))
			if kind == 0xff { // filling
				rest = rest[1:]
				continue
			}
			if length < 2 || 2+length > len(rest) || !yield(kind, rest[4:2+length]) || kind == startOfScan {
				return
			}
			rest = rest[2+length:]
		}
	}
}

// progressive says whether a JPEG file is, or in a form that is not understood
// here.
func progressive(file []byte) bool {
	for kind := range segments(file) {
		if kind == startOfProgressive || kind == startOfScan {
			return kind == startOfProgressive
		}
	}
	return true
}

// orientation is how a picture's camera was held, 1 to 8; 1, upright, when that
// is not told.
func orientation(file []byte) byte {
	for kind, segment := range segments(file) {
		tiff, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00"))
		if kind == appOne && ok {
			return readOrientation(tiff)
		}
	}
	return 1
}

func readOrientation(tiff []byte) byte {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			break
		}
		if v := order.Uint16(entries[8:]); order.Uint16(entries) == exifOrientation && v >= 1 && v <= 8 {
			return byte(v)
		}
		entries = entries[12:]
	}
	return 1
}

// turned notes in a JPEG file without such a note how its camera was held.
func turned(file []byte, how byte) []byte {
	if how == 1 {
		return file
	}
	note := []byte{0xff, appOne, 0, 34, 'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8,
		0, 1, exifOrientation >> 8, exifOrientation & 0xff, 0, 3, 0, 0, 0, 1, 0, how, 0, 0, 0, 0, 0, 0}
	return append(append(bytes.Clone(file[:2]), note...), file[2:]...)
}
