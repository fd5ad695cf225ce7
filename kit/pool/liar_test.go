package pool_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// act is what a liar does with the nth request, from 0, of the mth connection.
type act int

const (
	answer     act = iota
	answerBye      // answers, then closes without having announced it
	hangUp         // reads the request and closes
	reset          // reads the request and resets the connection
	halfHeader     // closes within the answer's header
	halfBody       // closes within the answer's body
)

// liar is a server of raw TCP that does to connections what servers must not.
type liar struct {
	url  string
	plan func(conn, nth int) act

	mu       sync.Mutex
	received map[string]int // requests by id, their body or path
	conns    int
}

func lie(t *testing.T, plan func(conn, nth int) act) *liar {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &liar{url: "http://" + l.Addr().String(), plan: plan, received: map[string]int{}}
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[c] = true
			mu.Unlock()
			wg.Go(func() {
				s.serve(c.(*net.TCPConn))
				mu.Lock()
				delete(open, c)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return s
}

func (s *liar) serve(c *net.TCPConn) {
	defer c.Close()
	s.mu.Lock()
	conn := s.conns
	s.conns++
	s.mu.Unlock()
	br := bufio.NewReader(c)
	for nth := 0; ; nth++ {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		id, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		if len(id) == 0 {
			id = []byte(req.URL.Path)
		}
		s.mu.Lock()
		s.received[string(id)]++
		s.mu.Unlock()
		reply := "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
		if req.Method == http.MethodHead {
			reply = strings.TrimSuffix(reply, "hello")
		}
		switch s.plan(conn, nth) {
		case answer:
			_, err = io.WriteString(c, reply)
		case answerBye:
			_, _ = io.WriteString(c, reply)
			return
		case hangUp:
			return
		case reset:
			_ = c.SetLinger(0)
			return
		case halfHeader:
			_, _ = io.WriteString(c, reply[:20])
			return
		case halfBody:
			_, _ = io.WriteString(c, reply[:len(reply)-3])
			return
		}
		if err != nil {
			return
		}
	}
}

// times is how often the request id was received whole.
func (s *liar) times(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received[id]
}
