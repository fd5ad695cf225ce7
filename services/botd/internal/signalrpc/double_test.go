package signalrpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"quartet/services/botd/internal/signalrpc"
	"quartet/services/botd/internal/transport"
)

const (
	number = "+15550100000"
	group  = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	ala    = "11111111-1111-4111-8111-111111111111"

	success = `{"timestamp":1700000000001,"results":[{"recipientAddress":{"uuid":"` + ala + `"},"type":"SUCCESS"}]}`
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

var hello = transport.Outgoing{Chat: transport.Chat{Group: group}, Text: "hej"}

// request is a call as signal-cli sees it.
type request struct {
	ID     json.RawMessage
	Method string
	Params map[string]any
}

// peer is the other end of one connection.
type peer struct {
	net.Conn
	in *bufio.Reader
}

// next reads a call; ok is false when there will be no more.
func (p *peer) next() (r request, ok bool) {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return r, false
	}
	if err := json.Unmarshal(line, &r); err != nil {
		panic(fmt.Sprintf("%s: %v", line, err))
	}
	return r, true
}

func (p *peer) say(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...) // a client that has left misses it
}

func (p *peer) result(r request, result string) {
	p.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
}

func (p *peer) refuse(r request, code int, text string) {
	p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, r.ID, code, text)
}

// answerAll answers calls until the connection ends.
func (p *peer) answerAll() {
	for {
		r, ok := p.next()
		if !ok {
			return
		}
		p.usual(r)
	}
}

// usual answers as a server does that is well.
func (p *peer) usual(r request) {
	switch r.Method {
	case "subscribeReceive":
		p.result(r, "0")
	case "unsubscribeReceive":
		p.result(r, "{}")
	case "version":
		p.result(r, `{"version":"0.14.6"}`)
	case "listAccounts":
		p.result(r, `[{"number":"`+number+`"}]`)
	default:
		p.result(r, success)
	}
}

func wrapped(text string) string {
	return `{"jsonrpc":"2.0","method":"receive","params":{"subscription":0,"result":` + frame(text) + `}}`
}

func unasked(text string) string {
	return `{"jsonrpc":"2.0","method":"receive","params":` + frame(text) + `}`
}

func frame(text string) string {
	return fmt.Sprintf(`{"account":%q,"envelope":{"sourceUuid":%q,"timestamp":1,"dataMessage":{"message":%q}}}`, number, ala, text)
}

// texts are the messages in frames.
func texts(frames []string) string {
	all := make([]string, 0, len(frames))
	for _, f := range frames {
		var v struct {
			Error    string
			Envelope struct{ DataMessage struct{ Message string } }
		}
		if err := json.Unmarshal([]byte(f), &v); err != nil {
			panic(err)
		}
		all = append(all, v.Error+v.Envelope.DataMessage.Message)
	}
	return strings.Join(all, " ")
}

// piped returns a client whose connections are pipes without any buffer; each
// is served by serve in a goroutine of its own.
func piped(t *testing.T, serve func(p *peer)) *signalrpc.Client {
	t.Helper()
	return pipedWith(t, signalrpc.Options{}, serve)
}

func pipedWith(t *testing.T, o signalrpc.Options, serve func(p *peer)) *signalrpc.Client {
	t.Helper()
	o.Number = number
	c, err := signalrpc.New(o)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	c.DialBy(func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		serving.Go(func() {
			defer theirs.Close()
			serve(&peer{theirs, bufio.NewReader(theirs)})
		})
		return ours, nil
	})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	return c
}

// listening returns a client and the raw TCP server that it connects to.
func listening(t *testing.T, serve func(p *peer)) *signalrpc.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return servedBy(t, l, l.Addr().String(), serve)
}

func servedBy(t *testing.T, l net.Listener, address string, serve func(p *peer)) *signalrpc.Client {
	t.Helper()
	c, err := signalrpc.New(signalrpc.Options{Address: address, Number: number})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				serve(&peer{conn, bufio.NewReader(conn)})
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.Close()
		serving.Wait()
	})
	return c
}

// receiver notes what it is told. Frame waits for hold when it is set.
type receiver struct {
	hold chan struct{}

	mu       sync.Mutex
	opens    int
	frames   []string
	rejected map[transport.Reject]int64
	alive    int
	lost     int // frames that found no room before their link ended
}

func (r *receiver) Open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opens++
}

func (r *receiver) Frame(ctx context.Context, raw []byte) {
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-ctx.Done():
			r.mu.Lock()
			r.lost++
			r.mu.Unlock()
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opens != 1 {
		panic("a frame before Open")
	}
	r.frames = append(r.frames, string(raw))
}

func (r *receiver) Rejected(why transport.Reject, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rejected == nil {
		r.rejected = map[transport.Reject]int64{}
	}
	r.rejected[why] += bytes
}

func (r *receiver) Alive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alive++
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.frames)
}
