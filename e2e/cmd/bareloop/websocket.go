package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// websocket is the reading side of RFC 6455, as far as this server needs it:
// whole text messages, and pings.
type websocket struct {
	net.Conn
	in      *bufio.Reader
	payload []byte
}

// The frames that are told apart, by opcode.
const (
	opText  = 0x1
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xA
)

func dial(address, path string) (*websocket, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	// The key is any 16 bytes: what it proves, nobody here doubts.
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", path, address)
	in := bufio.NewReaderSize(conn, 64<<10)
	resp, err := http.ReadResponse(in, nil)
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		err = errors.New(resp.Status)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("open the websocket: %w", err)
	}
	return &websocket{Conn: conn, in: in}, nil
}

// next returns the next text message, valid until the one after it.
func (w *websocket) next() ([]byte, error) {
	for {
		op, err := w.frame()
		switch {
		case err != nil:
			return nil, err
		case op == opText:
			return w.payload, nil
		case op == opClose:
			return nil, io.EOF
		case op == opPing && len(w.payload) < 126:
			pong := append([]byte{0x80 | opPong, 0x80 | byte(len(w.payload)), 0, 0, 0, 0}, w.payload...) // under a mask of zeros
			if _, err := w.Write(pong); err != nil {
				return nil, err
			}
		}
	}
}

// frame reads one frame into payload.
func (w *websocket) frame() (op byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(w.in, head[:2]); err != nil {
		return 0, err
	}
	if op = head[0] & 0x0f; head[0]&0x80 == 0 || head[1]&0x80 != 0 {
		return 0, errors.New("a frame in parts, or under a mask")
	}
	size := uint64(head[1])
	switch size {
	case 126:
		_, err = io.ReadFull(w.in, head[:2])
		size = uint64(binary.BigEndian.Uint16(head[:2]))
	case 127:
		_, err = io.ReadFull(w.in, head[:8])
		size = binary.BigEndian.Uint64(head[:8])
	}
	if err != nil || size > 4<<20 {
		return 0, errors.Join(err, fmt.Errorf("a frame of %d bytes", size))
	}
	if uint64(cap(w.payload)) < size {
		w.payload = make([]byte, size)
	}
	w.payload = w.payload[:size]
	_, err = io.ReadFull(w.in, w.payload)
	return op, err
}
