package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func TestAFrameHasARealisticEnvelope(t *testing.T) {
	s := start(t)
	conn := s.dial(bot)
	s.emit("0", "!kot")
	f := s.read(conn)
	e := f.Envelope
	if f.Account != bot || e == nil || e.SourceUUID != ala || e.SourceName != "Ala" || e.SourceNumber == nil || !strings.HasPrefix(*e.SourceNumber, "+1555") {
		t.Fatalf("frame is %+v", f)
	}
	m := e.DataMessage
	if m.Message != "!kot" || m.Timestamp != e.Timestamp || m.GroupInfo == nil || m.GroupInfo.GroupID != koty.ID || m.GroupInfo.GroupName != "Koty" || m.GroupInfo.Type != "DELIVER" {
		t.Errorf("message is %+v", m)
	}
}

func TestADirectMessageHasNoGroup(t *testing.T) {
	s := start(t)
	conn := s.dial(bot)
	s.must(202, "POST", "/_sim/frames", `[{"text":"!ja","sender":"`+ala+`","timestamp":1700000000001}]`, nil)
	if f := s.read(conn); f.Envelope.DataMessage.GroupInfo != nil || f.Envelope.Timestamp != 1700000000001 {
		t.Errorf("frame is %+v", f.Envelope)
	}
}

func TestARawFrameIsEmittedAsItIs(t *testing.T) {
	s := start(t)
	conn := s.dial(bot)
	s.must(202, "POST", "/_sim/frames", `[{"raw":{"account":"`+bot+`","odd":[1,2]}}]`, nil)
	ctx, cancel := context.WithTimeout(t.Context(), bounds)
	defer cancel()
	if _, content, err := conn.Read(ctx); err != nil || string(content) != `{"account":"`+bot+`","odd":[1,2]}` {
		t.Errorf("%s, %v", content, err)
	}
}

func TestABurstLosesFramesAtTheWebsocket(t *testing.T) {
	s := start(t)
	s.dial(bot)
	s.emit("0", numbered(2000)...)
	v := s.until("emitted", func(v stats) bool {
		return v.Emitted == 2000 && v.Delivered+v.Dropped["busy"] == 2000
	})
	if v.Dropped["busy"] == 0 || v.Delivered == 0 {
		t.Errorf("delivered %d, dropped %v", v.Delivered, v.Dropped)
	}
}

func TestASpacedStreamLosesNothing(t *testing.T) {
	s := start(t)
	conn := s.dial(bot)
	texts := numbered(40)
	s.emit("10ms", texts...)
	for _, want := range texts {
		if got := s.read(conn).text(); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestWithoutDropWhenBusyABurstLosesNothing(t *testing.T) {
	s := start(t, "-quirks", "drop_when_busy=false")
	conn := s.dial(bot)
	texts := numbered(2000)
	s.emit("0", texts...)
	for _, want := range texts {
		if got := s.read(conn).text(); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestFramesWithoutAClientAreLost(t *testing.T) {
	s := start(t)
	s.emit("0", "nobody hears it")
	s.until("lost", func(v stats) bool { return v.Dropped["no_client"] == 1 })
}

func TestTwoSocketsEachGetEveryFrame(t *testing.T) {
	s := start(t)
	a, b := s.dial(bot), s.dial(bot)
	s.emit("0", "both")
	if x, y := s.read(a).text(), s.read(b).text(); x != "both" || y != "both" {
		t.Errorf("got %q and %q", x, y)
	}
}

func TestAWrongNumberIsSilent(t *testing.T) {
	s := start(t)
	wrong, right := s.dial("+15550199999"), s.dial(bot)
	s.emit("10ms", "one", "two")
	for range 2 {
		s.read(right)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, content, err := wrong.Read(ctx); err == nil {
		t.Errorf("got %s", content)
	}
}

func TestThePlusMayBeEscaped(t *testing.T) {
	s := start(t, "-quirks", "drop_when_busy=false")
	conn := s.dial("%2B15550100000")
	s.emit("0", "x")
	if got := s.read(conn).text(); got != "x" {
		t.Errorf("got %q", got)
	}
}

func TestTheSenderMayHideTheNumber(t *testing.T) {
	s := start(t, "-quirks", "number_null,drop_when_busy=false")
	conn := s.dial(bot)
	s.emit("0", "x")
	if f := s.read(conn); f.Envelope.SourceNumber != nil || f.Envelope.SourceUUID != ala {
		t.Errorf("frame is %+v", f.Envelope)
	}
}

func TestFramesCanComeTwice(t *testing.T) {
	s := start(t, "-quirks", "duplicate_frames=1,drop_when_busy=false")
	conn := s.dial(bot)
	s.emit("0", "one", "two")
	for _, want := range []string{"one", "one", "two"} {
		if got := s.read(conn).text(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAFrameCanBeAnExceptionOnly(t *testing.T) {
	s := start(t, "-quirks", "exception_only=1,drop_when_busy=false")
	conn := s.dial(bot)
	s.emit("0", "lost in decoding", "fine")
	if f := s.read(conn); f.Exception == nil || f.Envelope != nil || f.Account != bot {
		t.Errorf("frame is %+v", f)
	}
	if got := s.read(conn).text(); got != "fine" {
		t.Errorf("got %q", got)
	}
}

func TestAFrameCanBeAnError(t *testing.T) {
	s := start(t, "-quirks", "error_frames=1,drop_when_busy=false")
	conn := s.dial(bot)
	s.emit("0", "lost", "fine")
	if f := s.read(conn); f.Error == "" || f.Envelope != nil || f.Account != "" {
		t.Errorf("frame is %+v", f)
	}
	if got := s.read(conn).text(); got != "fine" {
		t.Errorf("got %q", got)
	}
}

func TestALongMessageOfTheClientClosesWith1009(t *testing.T) {
	s := start(t)
	conn := s.dial(bot)
	ctx, cancel := context.WithTimeout(t.Context(), bounds)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageText, make([]byte, 600)); err != nil {
		t.Fatal(err)
	}
	_, _, err := conn.Read(ctx)
	if websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("closed with %v", err)
	}
}

func TestAShortMessageOfTheClientIsIgnored(t *testing.T) {
	s := start(t)
	conn := s.dial(bot)
	if err := conn.Write(t.Context(), websocket.MessageText, make([]byte, 512)); err != nil {
		t.Fatal(err)
	}
	s.emit("0", "still open")
	if got := s.read(conn).text(); got != "still open" {
		t.Errorf("got %q", got)
	}
}

func TestTheServerPingsAndMindsNoMissingPong(t *testing.T) {
	s := start(t, "-quirks", "ping_period=20ms")
	pings := make(chan struct{}, 100)
	ctx, cancel := context.WithTimeout(t.Context(), bounds)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, s.url+"/v1/receive/"+bot, &websocket.DialOptions{
		OnPingReceived: func(context.Context, []byte) bool { pings <- struct{}{}; return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	go func() { _, _, _ = conn.Read(ctx) }()
	for range 3 {
		select {
		case <-pings:
		case <-ctx.Done():
			t.Fatal("no ping")
		}
	}
	if got := s.stats().WS; got != 1 {
		t.Errorf("%d clients", got)
	}
}

func TestFramesBeforeTheSocketIsRegisteredAreLost(t *testing.T) {
	s := start(t, "-quirks", "register_delay=10s")
	s.dial(bot)
	s.emit("0", "too early")
	s.until("lost", func(v stats) bool { return v.Dropped["no_client"] == 1 })
}

// stuck opens a websocket that never reads, and fills it until its writer blocks.
func stuck(t *testing.T, s *sim) {
	t.Helper()
	s.dial(bot)
	big := strings.Repeat("x", 60<<10)
	// A goroutine that is only late drops frames too, but goes on delivering: on a
	// busy machine after a while.
	for last, same := int64(-1), 0; same < 8; same++ {
		time.Sleep(time.Duration(same) * 25 * time.Millisecond)
		s.emit("0", big)
		v := s.until("emitted", func(v stats) bool { return v.Queued == 0 })
		if v.Emitted > 400 {
			t.Fatal("the socket takes everything")
		}
		if v.Delivered != last {
			last, same = v.Delivered, 0
		}
	}
}

func TestAStuckClientStarvesTheOthers(t *testing.T) {
	s := start(t)
	stuck(t, s)
	before := s.stats()
	healthy := s.dial(bot)
	s.emit("10ms", numbered(10)...)
	s.until("emitted", func(v stats) bool { return v.Emitted == before.Emitted+10 })
	// The allowance that hides hiccups of the machine does not hide this.
	v := s.until("dropped", func(v stats) bool { return v.Dropped["busy"] >= before.Dropped["busy"]+10 })
	if v.Delivered != before.Delivered {
		t.Errorf("%d frames were delivered", v.Delivered-before.Delivered)
	}
	_ = healthy.CloseNow()
}

func TestWithItsOwnLockAHealthyClientGetsFrames(t *testing.T) {
	s := start(t, "-quirks", "shared_write_lock=false")
	stuck(t, s)
	healthy := s.dial(bot)
	s.emit("10ms", "hello")
	if got := s.read(healthy).text(); got != "hello" {
		t.Errorf("got %q", got)
	}
}

func TestAPlainGetIsRefusedAsTheRealServerDoes(t *testing.T) {
	s := start(t)
	status, kind, body := s.call("GET", "/v1/receive/"+bot, "")
	if status != 400 || !strings.HasPrefix(kind, "text/plain") || !strings.HasPrefix(body, "Bad Request\n{\"error\":\"websocket:") {
		t.Errorf("%d %s %q", status, kind, body)
	}
}

func TestInNormalModeThereIsNoWebsocket(t *testing.T) {
	s := start(t, "-quirks", "about_mode=normal")
	_, answer, err := websocket.Dial(t.Context(), s.url+"/v1/receive/"+bot, nil)
	if err == nil || answer == nil || answer.StatusCode != 200 {
		t.Errorf("answered %v, %v", answer, err)
	}
	var about struct{ Mode string }
	s.must(200, "GET", "/v1/about", "", &about)
	if about.Mode != "normal" {
		t.Errorf("mode is %q", about.Mode)
	}
}

func TestDisconnectCutsTheWebsockets(t *testing.T) {
	s := start(t)
	conn := s.dial(bot)
	s.must(200, "POST", "/_sim/disconnect?what=ws", "", nil)
	ctx, cancel := context.WithTimeout(t.Context(), bounds)
	defer cancel()
	if _, _, err := conn.Read(ctx); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	s.until("gone", func(v stats) bool { return v.WS == 0 })
}

func TestHTTPCanListenLate(t *testing.T) {
	began := time.Now()
	s := start(t, "-quirks", "late_listen=150ms")
	if waited := time.Since(began); waited < 150*time.Millisecond {
		t.Errorf("listened after %v", waited)
	}
	if status, _, _ := s.call("PUT", "/_sim/quirks", `{"late_listen":"1s"}`); status != http.StatusBadRequest {
		t.Errorf("a change after the start was answered %d", status)
	}
}
