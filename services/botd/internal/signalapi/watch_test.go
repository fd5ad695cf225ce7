package signalapi_test

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The server's side of a websocket after the handshake, byte by byte: a
// library would answer pings by itself.
var peers = map[string]func(conn net.Conn){
	// Writes get through and nothing comes back, as when the other machine
	// was switched off.
	"half open": func(conn net.Conn) { io.Copy(io.Discard, conn) },
	// Not even writes get through.
	"stuck": func(net.Conn) {},
	// A frame begins and does not end.
	"stuck in a frame": func(conn net.Conn) {
		conn.Write([]byte{0x81, 126, 0x10, 0x00, 'x'})
		io.Copy(io.Discard, conn)
	},
}

// A connection that is dead and does not say so looks like a quiet group. It
// must be noticed, not waited for.
func TestHalfOpenConnectionIsNoticed(t *testing.T) {
	for name, peer := range peers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				start := time.Now()
				err := receiveFrom(t, ctx, peer)
				if after := time.Since(start); err == nil || after > 90*time.Second {
					t.Errorf("noticed after %s: %v", after, err)
				}
			})
		})
	}
}

// A quiet group is not a dead connection: pongs alone keep it, for as long as
// they come.
func TestQuietConnectionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		err := receiveFrom(t, ctx, func(conn net.Conn) {
			for ping := make([]byte, 2); ; {
				if _, err := io.ReadFull(conn, ping); err != nil {
					return
				}
				body := make([]byte, 4+int(ping[1]&0x7f)) // the mask, then what it hides
				if _, err := io.ReadFull(conn, body); err != nil {
					return
				}
				for i := range body[4:] {
					body[4+i] ^= body[i%4]
				}
				conn.Write(append([]byte{0x8a, byte(len(body) - 4)}, body[4:]...))
			}
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
	})
}

// How a server closes is told.
func TestCloseCodeIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := receiveFrom(t, t.Context(), func(conn net.Conn) {
			go io.Copy(io.Discard, conn)
			conn.Write(append([]byte{0x88, 2 + 4, 1009 >> 8, 1009 & 0xff}, "long"...))
		})
		if err == nil || !strings.Contains(err.Error(), "StatusMessageTooBig") || !strings.Contains(err.Error(), "long") {
			t.Errorf("error %v", err)
		}
	})
}

// receiveFrom receives from a server that accepts the websocket and goes on as
// peer does, all on an imitated clock.
func receiveFrom(t *testing.T, ctx context.Context, peer func(net.Conn)) error {
	t.Helper()
	return receiveInto(t, ctx, newRecorder(), peer)
}

func receiveInto(t *testing.T, ctx context.Context, to *recorder, peer func(net.Conn)) error {
	t.Helper()
	c := clientAt(t, "http://signal:8080")
	c.DialWith(func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			q, err := http.ReadRequest(bufio.NewReader(theirs))
			if err != nil {
				t.Error(err)
				return
			}
			accept := sha1.Sum([]byte(q.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
			fmt.Fprintf(theirs, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
				base64.StdEncoding.EncodeToString(accept[:]))
			peer(theirs)
		}()
		return ours, nil
	})
	return c.Receive(ctx, to)
}
