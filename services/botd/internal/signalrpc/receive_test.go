package signalrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/signalrpc"
	"quartet/services/botd/internal/transport"
)

// subscribing serves the connection of a subscription: after is called when it
// was asked for.
func subscribing(after func(p *peer, subscribe request)) func(p *peer) {
	return func(p *peer) {
		if r, ok := p.next(); ok {
			after(p, r)
		}
	}
}

func TestFramesAreHandedOnWrappedOrNot(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string // "ANSWER" stands for the answer to the subscription
		want  string
	}{
		"by subscription":                   {[]string{"ANSWER", wrapped("a"), wrapped("b")}, "a b"},
		"before the answer":                 {[]string{wrapped("a"), "ANSWER", wrapped("b")}, "a b"},
		"unasked":                           {[]string{"ANSWER", unasked("a"), unasked("b")}, "a b"},
		"an error in place of a frame":      {[]string{"ANSWER", `{"method":"receive","error":{"message":"a"}}`, wrapped("b")}, "a b"},
		"between things that we know not":   {[]string{"ANSWER", `{"method":"callEvent","params":{}}`, wrapped("a"), `{"id":"77","result":1}`, wrapped("b")}, "a b"},
		"twice, until that is known":        {[]string{unasked("a"), "ANSWER", unasked("b"), wrapped("b"), unasked("c"), wrapped("c"), wrapped("d"), unasked("d")}, "a b b c d"},
		"behind lines that are no frames":   {[]string{"ANSWER", "garbage", "", `{"method":"receive"}`, `{"x":1}`, "[]", wrapped("a")}, "a"},
		"where others end their lines CRLF": {[]string{"ANSWER", wrapped("a") + "\r", wrapped("b") + "\r"}, "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			client := listening(t, subscribing(func(p *peer, r request) {
				for _, line := range c.lines {
					if line == "ANSWER" {
						p.result(r, "0")
					} else {
						p.say("%s", line)
					}
				}
			}))
			var to receiver
			err := client.Receive(t.Context(), &to)
			if !errors.Is(err, io.EOF) {
				t.Errorf("ended by %v", err)
			}
			if got := texts(to.frames); got != c.want || to.opens != 1 || to.alive == 0 {
				t.Errorf("frames are %q, want %q; opened %d times", got, c.want, to.opens)
			}
		})
	}
}

func TestWhatIsDroppedHasAReason(t *testing.T) {
	giant := wrapped(strings.Repeat("x", transport.MaxFrame))
	client := listening(t, subscribing(func(p *peer, r request) {
		p.result(r, "0")
		p.say("%s", wrapped("a"))
		p.say("garbage")
		p.say("%s", giant)
		p.say("%s", unasked("a"))
		p.say("%s", wrapped("b"))
		fmt.Fprint(p, wrapped("cut")[:40])
	}))
	var to receiver
	if err := client.Receive(t.Context(), &to); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("ended by %v", err)
	}
	if got := texts(to.frames); got != "a b" {
		t.Errorf("frames are %q", got)
	}
	for why, bytes := range map[transport.Reject]int64{
		transport.RejectNoFrame: int64(len("garbage")),
		transport.RejectTooLong: int64(len(giant)),
		transport.RejectUnasked: int64(len(frame("a"))),
	} {
		if to.rejected[why] != bytes {
			t.Errorf("%s: %d bytes, want %d", why, to.rejected[why], bytes)
		}
	}
}

func TestTheSubscriptionIsForOurAccount(t *testing.T) {
	client := listening(t, subscribing(func(_ *peer, r request) {
		if r.Method != "subscribeReceive" || r.Params["account"] != number || len(r.Params) != 1 {
			t.Errorf("asked %+v", r)
		}
	}))
	_ = client.Receive(t.Context(), &receiver{})
}

func TestASubscriptionThatCannotBeIsNoFaultWhereFramesComeUnasked(t *testing.T) {
	for _, c := range []struct {
		code int
		text string
		open bool
	}{
		{-32601, "Method not implemented", true},
		{-1, "Receive command cannot be used if messages are already being received.", true},
		{-32602, "Specified account does not exist", false},
		{-32603, "what?", false},
	} {
		client := listening(t, subscribing(func(p *peer, r request) {
			p.refuse(r, c.code, c.text)
			p.say("%s", unasked("a"))
		}))
		var to receiver
		err := client.Receive(t.Context(), &to)
		_, refused := errors.AsType[*transport.Error](err)
		if refused == c.open || (to.opens == 1) != c.open || (len(to.frames) == 1) != c.open {
			t.Errorf("%d: opened %d times, %d frames, %v", c.code, to.opens, len(to.frames), err)
		}
	}
}

func TestWhoIsNotThereIsAnError(t *testing.T) {
	for _, address := range []string{"127.0.0.1:1", "unix:/nowhere/socket", "/nowhere/socket"} {
		client, err := signalrpc.New(signalrpc.Options{Address: address, Number: number})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Receive(t.Context(), &receiver{}); err == nil || !strings.Contains(err.Error(), "connect to signal-cli") {
			t.Errorf("%s: %v", address, err)
		}
		if _, err := client.Send(t.Context(), hello); err == nil || errors.Is(err, transport.ErrOutcomeUnknown) {
			t.Errorf("%s: %v", address, err)
		}
		client.Close()
	}
}

func TestAUnixSocketWorksAsWell(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for _, address := range []string{path, "unix:" + path} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		client := servedBy(t, l, address, (*peer).answerAll)
		if r, err := client.Send(t.Context(), hello); err != nil || r.Timestamp == 0 {
			t.Errorf("%s: %+v, %v", address, r, err)
		}
		l.Close()
	}
}

// A receiver that takes its time holds frames up at the server, all of them,
// and its own calls are answered meanwhile.
func TestASlowReceiverPressesBackAndItsCallsWork(t *testing.T) {
	const frames, size = 250, 64 << 10 // 16 MiB, more than any socket holds
	var written atomic.Int64
	client := listening(t, func(p *peer) {
		r, ok := p.next()
		if !ok {
			return
		}
		p.usual(r)
		if r.Method != "subscribeReceive" {
			p.answerAll()
			return
		}
		for i := range frames {
			p.say("%s", wrapped(fmt.Sprint(i, strings.Repeat("x", size))))
			written.Add(1)
		}
		p.answerAll()
	})
	to := receiver{hold: make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- client.Receive(ctx, &to) }()
	to.hold <- struct{}{} // it has begun, and now nobody takes the second
	for range 50 {
		if _, err := client.Send(t.Context(), hello); err != nil {
			t.Fatal(err)
		}
	}
	if n := written.Load(); n >= frames {
		t.Fatalf("the server was rid of all %d frames while nobody took them", n)
	}
	for range frames - 1 {
		select {
		case to.hold <- struct{}{}:
		case <-time.After(patience):
			t.Fatalf("stuck after %d frames", to.count())
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended by %v", err)
	}
	if len(to.frames) != frames || to.lost != 0 || len(to.rejected) != 0 {
		t.Fatalf("%d frames, %d lost, rejected %v", len(to.frames), to.lost, to.rejected)
	}
	for i, f := range to.frames {
		if !strings.HasPrefix(texts([]string{f}), fmt.Sprint(i, "x")) {
			t.Fatalf("frame %d is out of order", i)
		}
	}
}

func TestNothingIsReadWhileTheReceiverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written atomic.Int64
		client := piped(t, subscribing(func(p *peer, r request) {
			p.usual(r)
			for i := range 10 { // each does not fit into the reader's first buffer
				p.say("%s", wrapped(fmt.Sprint(i, strings.Repeat("x", 64<<10))))
				written.Add(1)
			}
			p.answerAll()
		}))
		to := receiver{hold: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- client.Receive(ctx, &to) }()
		synctest.Wait()
		if n := written.Load(); n > 2 {
			t.Errorf("%d frames were read", n)
		}
		// Far longer than any silence: it is we who do not listen.
		time.Sleep(time.Hour)
		close(to.hold)
		synctest.Wait()
		if n := to.count(); n != 10 {
			t.Errorf("%d frames", n)
		}
		stop()
		<-ended
	})
}

func TestAQuietServerIsAskedForASignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := piped(t, (*peer).answerAll)
		var to receiver
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if err := client.Receive(ctx, &to); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended by %v", err)
		}
		if want := int(time.Hour/client.Traits().MaxSilence) - 1; to.alive < want {
			t.Errorf("%d signs of life in an hour, want %d", to.alive, want)
		}
	})
}

func TestADeadServerIsNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(p *peer)
		after time.Duration
	}{
		"silent after the subscription": {subscribing(func(p *peer, r request) {
			p.usual(r)
			_, _ = io.Copy(io.Discard, p)
		}), 45 * time.Second},
		"silent from the start": {func(p *peer) { _, _ = io.Copy(io.Discard, p) }, 15 * time.Second},
		"reads nothing":         {func(*peer) { time.Sleep(time.Minute) }, 10 * time.Second},
		"alive, but it does not subscribe us": {func(p *peer) {
			for {
				r, ok := p.next()
				if !ok {
					return
				}
				if r.Method != "subscribeReceive" {
					p.usual(r)
				}
			}
		}, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := piped(t, c.serve)
				begun := time.Now()
				err := client.Receive(t.Context(), &receiver{})
				if err == nil || time.Since(begun) != c.after {
					t.Errorf("ended after %s by %v", time.Since(begun), err)
				}
			})
		})
	}
}

func TestAtTheEndTheSubscriptionIsLeftAndWhatWasUnderWayIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left request
		client := piped(t, subscribing(func(p *peer, r request) {
			p.result(r, "41")
			left, _ = p.next()
			p.say("%s", wrapped("late"))
			p.result(left, "{}")
			p.say("%s", wrapped("too late"))
		}))
		var to receiver
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- client.Receive(ctx, &to) }()
		synctest.Wait()
		why := errors.New("enough")
		begun := time.Now()
		stop(why)
		if err := <-ended; !errors.Is(err, why) || time.Since(begun) != 0 {
			t.Errorf("ended after %s by %v", time.Since(begun), err)
		}
		if got := texts(to.frames); got != "late" {
			t.Errorf("frames are %q", got)
		}
		if left.Method != "unsubscribeReceive" || left.Params["subscription"] != 41.0 || left.Params["account"] != number {
			t.Errorf("asked %+v", left)
		}
	})
}

func TestTheEndWaitsForNobodyLong(t *testing.T) {
	for name, serve := range map[string]func(p *peer){
		"a server that does not let us go": subscribing(func(p *peer, r request) {
			p.usual(r)
			_, _ = io.Copy(io.Discard, p)
		}),
		"a receiver that takes nothing": subscribing(func(p *peer, r request) {
			p.usual(r)
			p.say("%s", wrapped("a"))
			p.answerAll()
		}),
		"a server that has not subscribed us": func(p *peer) { _, _ = io.Copy(io.Discard, p) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := piped(t, serve)
				to := receiver{hold: make(chan struct{})}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- client.Receive(ctx, &to) }()
				synctest.Wait()
				begun := time.Now()
				stop()
				if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(begun) > 2*time.Second {
					t.Errorf("ended after %s by %v", time.Since(begun), err)
				}
			})
		})
	}
}

// A server that restarts ends the call; the next one subscribes anew, and what
// waited at Signal meanwhile comes then.
func TestReceiveCanBeCalledAgainAfterARestart(t *testing.T) {
	var conns atomic.Int64
	client := listening(t, subscribing(func(p *peer, r request) {
		n := conns.Add(1)
		p.usual(r)
		p.say("%s", wrapped(fmt.Sprint(n)))
	}))
	for i := range 2 {
		var to receiver
		if err := client.Receive(t.Context(), &to); err == nil {
			t.Error("it ended without a reason")
		}
		if got := texts(to.frames); got != fmt.Sprint(i+1) || to.opens != 1 {
			t.Errorf("frames are %q", got)
		}
	}
}

func FuzzSubscriptionLine(f *testing.F) {
	for _, line := range []string{
		wrapped("a"), unasked("a"), "garbage", `{"id":"subscribe","result":0}`, `{"id":"subscribe","error":{"code":-32601}}`,
		`{"id":"unsubscribe","result":{}}`, `{"id":"probe","result":{}}`, `{"method":"callEvent"}`, `{"id":"subscribe","error":7}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var to receiver
		err := signalrpc.TakeLine(&to, line)
		if told := len(to.frames) + len(to.rejected); told > 1 || err != nil && told > 0 {
			t.Errorf("%q: %d frames, rejected %v, %v", line, len(to.frames), to.rejected, err)
		}
	})
}
