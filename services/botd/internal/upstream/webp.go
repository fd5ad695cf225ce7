package upstream

import (
	"encoding/binary"
	"errors"
)

// webpSize reads how many pixels a WebP file wants: the greatest width and height
// of its canvas and of all that lies on it, since a small canvas may claim an
// enormous frame. What is cut off at its end is not looked at.
func webpSize(file []byte) (width, height int, err error) {
	if len(file) < 12 || string(file[:4]) != "RIFF" || string(file[8:12]) != "WEBP" {
		return 0, 0, errors.New("no WebP file")
	}
	width, height = webpChunks(file[12:], true)
	if width == 0 || height == 0 {
		return 0, 0, errors.New("a WebP file without a size")
	}
	return width, height, nil
}

// webpChunks reads the chunks of a file, or, not on top, those of a frame of an
// animation.
func webpChunks(rest []byte, top bool) (width, height int) {
	for len(rest) >= 8 {
		kind, length := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		chunk := rest[:min(length, uint64(len(rest)))]
		w, h := webpHead(kind, chunk)
		width, height = max(width, w), max(height, h)
		if kind == "ANMF" && top && len(chunk) > 16 {
			w, h = webpChunks(chunk[16:], false)
			width, height = max(width, w), max(height, h)
		}
		rest = rest[min(length+length%2, uint64(len(rest))):] // padded to an even length
	}
	return width, height
}

// webpHead is the size that a chunk claims, 0 by 0 if it is about none.
func webpHead(kind string, chunk []byte) (width, height int) {
	switch {
	case kind == "VP8X" && len(chunk) >= 10: // canvas
		return uint24(chunk[4:]) + 1, uint24(chunk[7:]) + 1
	case kind == "ANMF" && len(chunk) >= 16:
		return uint24(chunk[6:]) + 1, uint24(chunk[9:]) + 1
	case kind == "VP8L" && len(chunk) >= 5 && chunk[0] == 0x2f: // lossless
		bits := binary.LittleEndian.Uint32(chunk[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case kind == "VP8 " && len(chunk) >= 10 && chunk[0]&1 == 0 && string(chunk[3:6]) == "\x9d\x01\x2a": // lossy, a key frame
		return int(binary.LittleEndian.Uint16(chunk[6:]) & 0x3fff), int(binary.LittleEndian.Uint16(chunk[8:]) & 0x3fff)
	}
	return 0, 0
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
