package wire

import "math/bits"

// Frame reads the first FixedHeader bytes of a message: the size in bytes of
// its padded header (those included) and of the whole message. It fails, with
// an *Error, when no valid message begins so: then the stream has lost its
// framing for good. Specification, "Message Format".
func Frame(b []byte) (header, total int, err error) {
	if len(b) < FixedHeader {
		return 0, 0, &Error{"header shorter than its fixed part"}
	}
	body, fields := load32(b, 4), load32(b, 12)
	switch b[0] {
	case 'l':
	case 'B':
		body, fields = bits.ReverseBytes32(body), bits.ReverseBytes32(fields)
	default:
		return 0, 0, refuse("byte order %q is neither l nor B", b[0])
	}
	if b[1] == 0 {
		return 0, 0, &Error{"message type 0"}
	}
	if b[3] != 1 {
		return 0, 0, refuse("protocol version %d", b[3])
	}
	if fields > MaxArray {
		return 0, 0, refuse("header fields of %d bytes", fields)
	}
	header = (FixedHeader + int(fields) + 7) &^ 7
	if uint64(body) > uint64(MaxMessage-header) {
		return 0, 0, refuse("message of %d bytes", uint64(header)+uint64(body))
	}
	return header, header + int(body), nil
}
