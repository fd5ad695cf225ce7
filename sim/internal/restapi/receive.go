package restapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"quartet/sim/internal/latency"
	"quartet/sim/internal/signalnet"
)

// ownDeadline bounds a write to a websocket that does not share the lock.
const ownDeadline = 10 * time.Second

// socket is one receiving websocket.
type socket struct {
	api    *API
	conn   *websocket.Conn
	number string
	frames chan signalnet.Frame // unbuffered: what is sent while nobody reads it is lost
	lock   lock                 // its own, for when the shared one is off
	grace  grace                // owned by the receive thread
}

// receive is GET /v1/receive/{number}.
func (a *API) receive(w http.ResponseWriter, r *http.Request) {
	if mode := a.net.Quirks.Text("about_mode"); mode != "json-rpc" && mode != "json-rpc-native" {
		answer(w, http.StatusOK, []string{})
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte("Bad Request\n" + `{"error":"websocket: the client is not using the websocket protocol: 'upgrade' token not found in 'Connection' header"}`))
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // Accept has answered
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer a.sockets.add(cancel)()
	defer func() { _ = conn.CloseNow() }()
	s := &socket{api: a, conn: conn, number: r.PathValue("number"), frames: make(chan signalnet.Frame), lock: newLock()}
	s.serve(ctx, cancel)
}

func (s *socket) serve(ctx context.Context, cancel context.CancelFunc) {
	quirks := s.api.net.Quirks
	s.conn.SetReadLimit(quirks.Number("read_limit"))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		defer cancel()
		for {
			if _, _, err := s.conn.Read(ctx); err != nil {
				return // the peer left, or said more than read_limit
			}
		}
	})
	if period := quirks.Duration("ping_period"); period > 0 {
		wg.Go(func() { s.ping(ctx, period) })
	}
	delay := quirks.Duration("register_delay")
	if delay > 0 { // open for everybody to see, and deaf
		s.api.clients.Add(1)
		defer s.api.clients.Add(-1)
	}
	if latency.Sleep(ctx, delay) != nil {
		return
	}
	leave := s.api.net.Subscribe(signalnet.Passive, s.take(ctx))
	defer leave()
	if delay <= 0 { // who sees that it is open may rely on its getting frames
		s.api.clients.Add(1)
		defer s.api.clients.Add(-1)
	}
	for {
		select {
		case f := <-s.frames:
			if !s.forUs(f) {
				continue
			}
			if s.write(ctx, f) != nil {
				s.api.net.Lost()
				return
			}
			s.api.net.Delivered.Add(1)
		case <-ctx.Done():
			return
		}
	}
}

// take returns the subscriber of the receive thread: it hands the frame to the
// goroutine of the socket if that one is waiting at this instant.
func (s *socket) take(socket context.Context) signalnet.Subscriber {
	return func(ctx context.Context, f signalnet.Frame) error {
		select {
		case s.frames <- f:
			return nil
		default:
		}
		var late <-chan time.Time // nil: never
		if s.api.net.Quirks.On("drop_when_busy") {
			left := s.grace.left(f.Grace, time.Now())
			if left <= 0 {
				return signalnet.ErrBusy
			}
			timer := time.NewTimer(left)
			defer timer.Stop()
			late = timer.C
			defer func(began time.Time) { s.grace.use(time.Since(began)) }(time.Now())
		}
		select {
		case s.frames <- f:
			return nil
		case <-late:
		case <-socket.Done():
		case <-ctx.Done():
		}
		return signalnet.ErrBusy
	}
}

// grace is a socket's allowance of waiting. Waiting for a goroutine that the
// machine does not run is rare and short; waiting for a client that does not
// read would be for ever, and uses the allowance up.
type grace struct {
	used  time.Duration
	since time.Time // when used was last brought up to date
}

// left returns what is left of the allowance.
func (g *grace) left(allowance time.Duration, now time.Time) time.Duration {
	if !g.since.IsZero() {
		g.used = max(g.used-now.Sub(g.since)/50, 0)
	}
	g.since = now
	return allowance - g.used
}

func (g *grace) use(d time.Duration) { g.used += d }

// forUs says whether the frame is for this socket's number; an error, which
// names no account, is for every socket.
func (s *socket) forUs(f signalnet.Frame) bool { return f.Account == s.number || f.Fault != "" }

func (s *socket) write(ctx context.Context, f signalnet.Frame) error {
	text := f.Params
	if f.Fault != "" {
		text, _ = json.Marshal(map[string]string{"error": f.Fault}) // a map of strings always encodes
	}
	if s.api.net.Quirks.On("shared_write_lock") {
		if !s.api.writeLock.lock(ctx) {
			return context.Cause(ctx)
		}
		defer s.api.writeLock.unlock()
		return s.conn.Write(ctx, websocket.MessageText, text)
	}
	if !s.lock.lock(ctx) {
		return context.Cause(ctx)
	}
	defer s.lock.unlock()
	ctx, cancel := context.WithTimeout(ctx, ownDeadline)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, text)
}

// ping pings every period. Nobody minds a missing pong: the wait for it only
// has to end before there are many.
func (s *socket) ping(ctx context.Context, period time.Duration) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		// A starved socket gets no pings either.
		if s.api.net.Quirks.On("shared_write_lock") {
			if !s.api.writeLock.lock(ctx) {
				return
			}
			s.api.writeLock.unlock()
		}
		pong, cancel := context.WithTimeout(ctx, period)
		_ = s.conn.Ping(pong)
		cancel()
	}
}

// lock is a mutex whose wait ends with a context.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

func (l lock) lock(ctx context.Context) bool {
	select {
	case l <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l lock) unlock() { <-l }

// sockets are the open websockets, to be cut from outside.
type sockets struct {
	mu   sync.Mutex
	next int
	cuts map[int]context.CancelFunc // guarded by mu
}

func (s *sockets) add(cut context.CancelFunc) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cuts == nil {
		s.cuts = map[int]context.CancelFunc{}
	}
	s.next++
	id := s.next
	s.cuts[id] = cut
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.cuts, id)
	}
}

// Disconnect cuts every websocket without a closing frame and returns how many.
func (a *API) Disconnect() int {
	a.sockets.mu.Lock()
	defer a.sockets.mu.Unlock()
	for _, cut := range a.sockets.cuts {
		cut()
	}
	return len(a.sockets.cuts)
}

// serverContext outlives the client of a request. It never ends: what is waited
// for under it is bounded by its latency.
func serverContext(r *http.Request) context.Context { return context.WithoutCancel(r.Context()) }
