package signalapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"quartet/services/botd/internal/transport"
)

// recorder is a receiver that keeps what it was told.
type recorder struct {
	open    atomic.Bool
	alive   atomic.Int64
	frames  chan string
	tooLong chan int64
}

func newRecorder() *recorder {
	return &recorder{frames: make(chan string, 1000), tooLong: make(chan int64, 10)}
}

func (r *recorder) Open()                                { r.open.Store(true) }
func (r *recorder) Frame(_ context.Context, raw []byte)  { r.frames <- string(raw) }
func (r *recorder) Rejected(_ transport.Reject, n int64) { r.tooLong <- n }
func (r *recorder) Alive()                               { r.alive.Add(1) }

// serveSocket accepts the websocket and hands it to talk.
func serveSocket(t *testing.T, talk func(ctx context.Context, c *websocket.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/receive/"+number {
			t.Errorf("the websocket was asked for at %q", r.URL.Path)
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		talk(r.Context(), c)
	}
}

func TestReceivePassesFramesOnInOrder(t *testing.T) {
	const n = 500
	c := client(t, serveSocket(t, func(ctx context.Context, conn *websocket.Conn) {
		for i := range n {
			if err := conn.Write(ctx, websocket.MessageText, fmt.Append(nil, "frame ", i)); err != nil {
				t.Error(err)
				return
			}
		}
		conn.Close(websocket.StatusNormalClosure, "bye")
	}))
	r := newRecorder()
	if err := c.Receive(t.Context(), r); err == nil || !strings.Contains(err.Error(), "bye") {
		t.Errorf("error %v does not say why the server closed", err)
	}
	if !r.open.Load() || r.alive.Load() < n {
		t.Errorf("open %t, alive %d times", r.open.Load(), r.alive.Load())
	}
	for i := range n {
		if got, want := <-r.frames, fmt.Sprint("frame ", i); got != want {
			t.Fatalf("frame %d is %q", i, got)
		}
	}
}

// A giant must not cost the connection and what comes behind it.
func TestReceiveSkipsAFrameThatIsTooLong(t *testing.T) {
	c := client(t, serveSocket(t, func(ctx context.Context, conn *websocket.Conn) {
		for _, raw := range []string{"before", strings.Repeat("x", transport.MaxFrame+1), strings.Repeat("y", transport.MaxFrame), "after"} {
			if err := conn.Write(ctx, websocket.MessageText, []byte(raw)); err != nil {
				t.Error(err)
				return
			}
		}
		conn.Close(websocket.StatusNormalClosure, "")
	}))
	r := newRecorder()
	c.Receive(t.Context(), r)
	if n := <-r.tooLong; n != transport.MaxFrame+1 {
		t.Errorf("%d bytes were too long", n)
	}
	for _, want := range []int{len("before"), transport.MaxFrame, len("after")} {
		if got := <-r.frames; len(got) != want {
			t.Errorf("a frame of %d bytes, want %d", len(got), want)
		}
	}
}

func TestReceiveEndsWithItsContext(t *testing.T) {
	c := client(t, serveSocket(t, func(ctx context.Context, conn *websocket.Conn) {
		conn.Read(ctx) // until the client goes
	}))
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(stop) })
	if err := c.Receive(ctx, newRecorder()); !errors.Is(err, stop) {
		t.Errorf("error %v, want the cause of the cancellation", err)
	}
}

func TestReceiveExplainsAServerWithoutWebsocket(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") })
	if err := c.Receive(t.Context(), newRecorder()); err == nil || !strings.Contains(err.Error(), "MODE=json-rpc") {
		t.Errorf("error %v does not name the mode", err)
	}
}

func TestCheckSaysWhyTheServerCannotServe(t *testing.T) {
	tests := []struct{ name, about, accounts, says string }{
		{"all is well", `{"mode":"json-rpc","version":"0.100"}`, `["+1","+15550100000"]`, ""},
		{"native JSON-RPC", `{"mode":"json-rpc-native"}`, `["+15550100000"]`, ""},
		{"wrong mode", `{"mode":"normal"}`, `["+15550100000"]`, "MODE=json-rpc"},
		{"account missing", `{"mode":"json-rpc"}`, `["+1"]`, "BOTD_NUMBER"},
		{"no account at all", `{"mode":"json-rpc"}`, `null`, "BOTD_NUMBER"},
		{"not the server", `<html>`, ``, "read about"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/v1/about":
					fmt.Fprint(w, tt.about)
				case "/v1/accounts":
					fmt.Fprint(w, tt.accounts)
				default:
					http.NotFound(w, r)
				}
			})
			_, err := c.Check(t.Context())
			if (err == nil) != (tt.says == "") || (err != nil && !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
}

func TestCheckWarnsOfAVersionThatMixesAccounts(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/about" {
			fmt.Fprint(w, `{"mode":"json-rpc","version":"0.94"}`)
			return
		}
		fmt.Fprintf(w, `[%q]`, number)
	})
	warnings, err := c.Check(t.Context())
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Text, "0.95") {
		t.Errorf("%+v, %v", warnings, err)
	}
}

// The server is well only if signal-cli answers through it: its own health
// check is not asked, for it says 204 whatever happens.
func TestCheckDoesNotBelieveTheHealthCheck(t *testing.T) {
	asked := make(chan string, 10)
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		switch r.URL.Path {
		case "/v1/health":
			w.WriteHeader(http.StatusNoContent)
		case "/v1/about":
			fmt.Fprint(w, `{"mode":"json-rpc"}`)
		default:
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, `{"error":"Couldn't get list of accounts: connection closed"}`)
		}
	})
	if _, err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "accounts") {
		t.Errorf("got %v", err)
	}
	if len(asked) != 2 || <-asked != "/v1/about" || <-asked != "/v1/accounts" {
		t.Error("something else was asked")
	}
}

// The container listens minutes after it was started. Until then everything
// fails at once, and nothing counts as sent.
func TestAServerThatIsNotThereYetIsAnErrorAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := clientAt(t, "http://"+l.Addr().String())
	l.Close()
	r := newRecorder()
	_, check := c.Check(t.Context())
	for _, err := range []error{check, c.Receive(t.Context(), r), c.Typing(t.Context(), transport.Chat{User: "u"}, true)} {
		if err == nil || errors.Is(err, transport.ErrOutcomeUnknown) || strings.Contains(err.Error(), "15550100000") {
			t.Errorf("got %v", err)
		}
	}
	if r.open.Load() {
		t.Error("it was opened")
	}
}

// A server that restarts ends the call, and the next one receives again: what
// came between is lost, which the receiver can tell by Open.
func TestReceiveCanBeCalledAgainAfterARestart(t *testing.T) {
	var conns atomic.Int64
	c := client(t, serveSocket(t, func(ctx context.Context, conn *websocket.Conn) {
		if err := conn.Write(ctx, websocket.MessageText, fmt.Append(nil, "frame ", conns.Add(1))); err != nil {
			t.Error(err)
		}
		if conns.Load() == 1 {
			conn.Close(websocket.StatusGoingAway, "restart")
		} // else it is cut
	}))
	for i := range 2 {
		r := newRecorder()
		if err := c.Receive(t.Context(), r); err == nil {
			t.Error("it ended without a reason")
		}
		if got := <-r.frames; !r.open.Load() || got != fmt.Sprint("frame ", i+1) {
			t.Errorf("got %q", got)
		}
	}
}

// The frame that the server sends together with its handshake is the first one
// lost if nobody reads yet.
func TestAFrameRightBehindTheHandshakeIsHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		_ = receiveInto(t, t.Context(), r, func(conn net.Conn) {
			conn.Write([]byte("\x81\x05hello\x88\x02\x03\xe8"))
			io.Copy(io.Discard, conn)
		})
		if got := <-r.frames; got != "hello" || !r.open.Load() {
			t.Errorf("got %q", got)
		}
	})
}

// A burst is taken as fast as the receiver takes it: between two frames there
// is nothing to wait for, even while the server answers no ping.
func TestABurstIsTakenWithoutAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		begun := time.Now()
		_ = receiveInto(t, t.Context(), r, func(conn net.Conn) {
			for i := range 1000 {
				body := fmt.Sprintf("%03d", i)
				conn.Write(append([]byte{0x81, byte(len(body))}, body...))
			}
			conn.Close()
		})
		if len(r.frames) != 1000 || time.Since(begun) != 0 {
			t.Errorf("%d frames after %s", len(r.frames), time.Since(begun))
		}
	})
}
