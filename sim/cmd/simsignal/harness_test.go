package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"quartet/sim/internal/signalnet"
)

const (
	bot    = "+15550100000"
	ala    = "11111111-1111-4111-8111-111111111111"
	bounds = 20 * time.Second // for what should take milliseconds
)

var koty = signalnet.DemoGroup("Koty")

// sim is a simulator run by a test.
type sim struct {
	t        *testing.T
	url, rpc string
	client   *http.Client
}

// start runs the real command on free ports until the test ends.
func start(t *testing.T, args ...string) *sim {
	t.Helper()
	reader, writer := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	args = append([]string{"-listen", "127.0.0.1:0", "-rpc", "127.0.0.1:0"}, args...)
	go func() {
		ended <- run(ctx, args, writer, io.Discard)
		_ = writer.Close()
	}()
	s := &sim{t: t, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	lines := bufio.NewScanner(reader)
	for s.url == "" || s.rpc == "" {
		if !lines.Scan() {
			t.Fatalf("the simulator ended: %v", <-ended)
		}
		name, url, _ := strings.Cut(lines.Text(), " ")
		if name == "rest" {
			s.url = url
		} else {
			_, s.rpc, _ = strings.Cut(url, "://")
		}
	}
	t.Cleanup(func() {
		stop()
		s.client.CloseIdleConnections()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the simulator ended with %v", err)
			}
		case <-time.After(bounds):
			t.Error("the simulator does not stop")
		}
	})
	return s
}

// call makes a request and returns its status, content type and body.
func (s *sim) call(method, path, body string) (status int, kind, answer string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), bounds)
	defer cancel()
	status, kind, answer, err := s.try(ctx, method, path, body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return status, kind, answer
}

func (s *sim) try(ctx context.Context, method, path, body string) (status int, kind, answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", "", err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0, "", "", err
	}
	defer func() { _ = res.Body.Close() }()
	content, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header.Get("Content-Type"), string(content), err
}

// must makes a request that has to be answered with the status, and decodes its body.
func (s *sim) must(want int, method, path, body string, into any) {
	s.t.Helper()
	status, _, answer := s.call(method, path, body)
	if status != want {
		s.t.Fatalf("%s %s: %d %s, want %d", method, path, status, answer, want)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(answer), into); err != nil {
			s.t.Fatalf("%s %s: %s: %v", method, path, answer, err)
		}
	}
}

// quirks sets quirks by a JSON object.
func (s *sim) quirks(object string) {
	s.t.Helper()
	s.must(200, "PUT", "/_sim/quirks", object, nil)
}

type stats struct {
	signalnet.Stats
	WS   int64 `json:"ws_clients"`
	RPC  int64 `json:"rpc_clients"`
	Subs int64 `json:"rpc_subscriptions"`
}

func (s *sim) stats() (v stats) {
	s.t.Helper()
	s.must(200, "GET", "/_sim/stats", "", &v)
	return v
}

// until polls the statistics until they satisfy, or fails.
func (s *sim) until(what string, satisfy func(stats) bool) stats {
	s.t.Helper()
	deadline := time.Now().Add(bounds)
	for {
		v := s.stats()
		if satisfy(v) {
			return v
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("never %s: %+v", what, v)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// emit queues frames with the texts, from Ala in the demo group.
func (s *sim) emit(spacing string, texts ...string) {
	s.t.Helper()
	var specs []signalnet.Spec
	for _, text := range texts {
		specs = append(specs, signalnet.Spec{Text: text, Sender: ala, Name: "Ala", Group: koty.ID})
	}
	body, err := json.Marshal(specs)
	if err != nil {
		s.t.Fatal(err)
	}
	s.must(202, "POST", "/_sim/frames?spacing="+spacing, string(body), nil)
}

func numbered(n int) []string {
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprint("message ", i))
	}
	return texts
}

// message is a valid text send to the demo group.
func message(text string) string {
	body, _ := json.Marshal(map[string]any{"number": bot, "recipients": []string{koty.PublicID()}, "message": text})
	return string(body)
}

// send posts a body to /v2/send.
func (s *sim) send(body string) (status int, answer string) {
	s.t.Helper()
	status, _, answer = s.call("POST", "/v2/send", body)
	return status, answer
}

// sent returns the log of deliveries.
func (s *sim) sent() []signalnet.Sent {
	s.t.Helper()
	var page struct{ Sends []signalnet.Sent }
	s.must(200, "GET", "/_sim/sends", "", &page)
	return page.Sends
}

// dial opens a receiving websocket and waits until it gets frames.
func (s *sim) dial(number string) *websocket.Conn {
	s.t.Helper()
	before := s.stats().WS
	ctx, cancel := context.WithTimeout(s.t.Context(), bounds)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, s.url+"/v1/receive/"+number, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	s.until("connected", func(v stats) bool { return v.WS > before })
	return conn
}

// frame is what a test looks at in a frame.
type frame struct {
	Account  string
	Error    string
	Envelope *struct {
		SourceNumber *string
		SourceUUID   string `json:"sourceUuid"`
		SourceName   string
		Timestamp    int64
		DataMessage  *struct {
			Timestamp int64
			Message   string
			GroupInfo *struct{ GroupID, GroupName, Type string }
		}
	}
	Exception *struct{ Message, Type string }
}

func (f frame) text() string {
	if f.Envelope == nil || f.Envelope.DataMessage == nil {
		return ""
	}
	return f.Envelope.DataMessage.Message
}

// read returns the next frame of a websocket.
func (s *sim) read(conn *websocket.Conn) frame {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), bounds)
	defer cancel()
	_, content, err := conn.Read(ctx)
	if err != nil {
		s.t.Fatalf("read: %v", err)
	}
	var f frame
	if err := json.Unmarshal(content, &f); err != nil {
		s.t.Fatalf("%s: %v", content, err)
	}
	return f
}

// rpcClient is a JSON-RPC connection.
type rpcClient struct {
	s     *sim
	conn  net.Conn
	lines *bufio.Reader
}

func (s *sim) dialRPC() *rpcClient {
	s.t.Helper()
	before := s.stats().RPC
	network := "tcp"
	if strings.HasPrefix(s.rpc, "/") {
		network = "unix"
	}
	conn, err := net.Dial(network, s.rpc)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	s.until("connected", func(v stats) bool { return v.RPC > before })
	return &rpcClient{s, conn, bufio.NewReader(conn)}
}

func (c *rpcClient) write(line string) {
	c.s.t.Helper()
	if _, err := io.WriteString(c.conn, line+"\n"); err != nil {
		c.s.t.Fatal(err)
	}
}

type rpcLine struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

func (c *rpcClient) read() rpcLine {
	c.s.t.Helper()
	_ = c.conn.SetReadDeadline(time.Now().Add(bounds))
	line, err := c.lines.ReadBytes('\n')
	if err != nil {
		c.s.t.Fatalf("read: %v", err)
	}
	var l rpcLine
	if err := json.Unmarshal(bytes.TrimSpace(line), &l); err != nil {
		c.s.t.Fatalf("%s: %v", line, err)
	}
	return l
}

// call makes a call and returns its answer, which is the next line.
func (c *rpcClient) call(method, params string) rpcLine {
	c.s.t.Helper()
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":%q,"params":%s}`, method, params))
	return c.read()
}
