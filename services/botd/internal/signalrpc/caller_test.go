package signalrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/transport"
)

func isUnknown(err error) bool { return errors.Is(err, transport.ErrOutcomeUnknown) }

// notSent is an error that says that nothing was done.
func notSent(err error) bool {
	_, refused := errors.AsType[*transport.Error](err)
	return err != nil && !refused && !isUnknown(err)
}

func TestAnswersFindTheirCallsInAnyOrder(t *testing.T) {
	const calls = 50
	client := listening(t, func(p *peer) {
		var all []request
		for range calls {
			r, _ := p.next()
			all = append(all, r)
		}
		for i := range all {
			r := all[calls-1-i]
			p.say(`{"id":"99999","result":{"timestamp":1}}`) // nobody's
			p.say(`garbage`)
			p.result(r, `{"timestamp":`+r.Params["message"].(string)+`}`)
			p.result(r, `{"timestamp":7}`) // a second answer
		}
		p.answerAll()
	})
	var sending sync.WaitGroup
	for i := 1; i <= calls; i++ {
		sending.Go(func() {
			r, err := client.Send(t.Context(), transport.Outgoing{Chat: hello.Chat, Text: fmt.Sprint(i)})
			if err != nil || r.Timestamp != int64(i) {
				t.Errorf("call %d: %+v, %v", i, r, err)
			}
		})
	}
	sending.Wait()
}

func TestAnIdMayComeBackAsANumber(t *testing.T) {
	client := listening(t, func(p *peer) {
		r, _ := p.next()
		p.say(`{"result":%s,"id":%s}`, success, strings.Trim(string(r.ID), `"`))
		_, _ = io.Copy(io.Discard, p)
	})
	if _, err := client.Send(t.Context(), hello); err != nil {
		t.Error(err)
	}
}

func TestACallThatIsNotAnsweredInTimeIsUnknownAndTheNextOneWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := piped(t, func(p *peer) {
			hung, _ := p.next()
			r, _ := p.next()
			p.result(hung, success) // too late: nobody waits
			p.usual(r)
			p.answerAll()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.Send(ctx, hello); !isUnknown(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if r, err := client.Send(t.Context(), hello); err != nil || r.Timestamp == 0 {
			t.Errorf("the next one: %+v, %v", r, err)
		}
	})
}

func TestNoCallWaitsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := piped(t, func(p *peer) {
			for {
				r, ok := p.next()
				if !ok {
					return
				}
				if r.Method != "send" {
					p.usual(r)
				}
			}
		})
		begun := time.Now()
		if _, err := client.Send(t.Context(), hello); !isUnknown(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if d := time.Since(begun); d != 5*time.Minute {
			t.Errorf("after %s", d)
		}
	})
}

func TestACallWhoseTimeIsOverIsNotSent(t *testing.T) {
	var seen atomic.Int64
	client := listening(t, func(p *peer) {
		for {
			r, ok := p.next()
			if !ok {
				return
			}
			seen.Add(1)
			p.usual(r)
		}
	})
	if _, err := client.Send(t.Context(), hello); err != nil { // the connection is there
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Send(ctx, hello); !notSent(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if seen.Load() != 1 {
		t.Error("it was sent")
	}
}

func TestALostConnectionLeavesWhatWasWrittenUnknown(t *testing.T) {
	for name, cut := range map[string]func(p *peer, r request){
		"at once":                     func(*peer, request) {},
		"in the middle of the answer": func(p *peer, r request) { fmt.Fprintf(p, `{"jsonrpc":"2.0","id":%s,"result":{"timest`, r.ID) },
	} {
		t.Run(name, func(t *testing.T) {
			var conns atomic.Int64
			client := listening(t, func(p *peer) {
				if conns.Add(1) > 1 {
					p.answerAll()
					return
				}
				for range 2 {
					if _, ok := p.next(); !ok {
						t.Error("no call came")
					}
				}
				r, _ := p.next()
				cut(p, r)
			})
			var sending sync.WaitGroup
			for range 3 {
				sending.Go(func() {
					if _, err := client.Send(t.Context(), hello); !isUnknown(err) {
						t.Errorf("got %v", err)
					}
				})
			}
			sending.Wait()
			if _, err := client.Send(t.Context(), hello); err != nil {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}

// A line that lost its last brace is no JSON: nothing can have been done by it.
func TestALineThatWasCutWasNotSent(t *testing.T) {
	size := lineLength(t)
	for taken, sent := range map[int]bool{0: false, 1: false, size / 2: false, size - 2: false, size - 1: true, size: true} {
		synctest.Test(t, func(t *testing.T) {
			client := piped(t, func(p *peer) { _, _ = io.CopyN(io.Discard, p.Conn, int64(taken)) })
			if _, err := client.Send(t.Context(), hello); isUnknown(err) != sent || notSent(err) == sent {
				t.Errorf("%d of %d bytes: %v", taken, size, err)
			}
		})
	}
}

func TestAConnectionThatTakesNothingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := piped(t, func(*peer) { time.Sleep(time.Hour) })
		begun := time.Now()
		first := make(chan error, 1)
		go func() {
			_, err := client.Send(t.Context(), hello)
			first <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.Send(ctx, hello); !notSent(err) || time.Since(begun) != time.Second {
			t.Errorf("one that waits behind it: %v after %s", err, time.Since(begun))
		}
		if err := <-first; !notSent(err) || time.Since(begun) != 30*time.Second {
			t.Errorf("the one that is stuck: %v after %s", err, time.Since(begun))
		}
	})
}

func TestAConnectionThatFallsSilentIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := piped(t, func(p *peer) { _, _ = io.Copy(io.Discard, p.in) })
		begun := time.Now()
		if _, err := client.Send(t.Context(), hello); !isUnknown(err) || time.Since(begun) != 45*time.Second {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}

func TestAnIdleConnectionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var conns atomic.Int64
		client := piped(t, func(p *peer) {
			conns.Add(1)
			p.answerAll()
		})
		for range 3 {
			if _, err := client.Send(t.Context(), hello); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Hour)
		}
		if n := conns.Load(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestManyFirstCallsMakeOneConnection(t *testing.T) {
	var conns atomic.Int64
	client := listening(t, func(p *peer) {
		conns.Add(1)
		p.answerAll()
	})
	var sending sync.WaitGroup
	for range 50 {
		sending.Go(func() {
			if _, err := client.Send(t.Context(), hello); err != nil {
				t.Error(err)
			}
		})
	}
	sending.Wait()
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestCloseEndsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := piped(t, func(p *peer) { _, _ = io.Copy(io.Discard, p.in) })
		waiting := make(chan error, 1)
		go func() {
			_, err := client.Send(t.Context(), hello)
			waiting <- err
		}()
		synctest.Wait()
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		if err := <-waiting; !isUnknown(err) {
			t.Errorf("what was written: %v", err)
		}
		if _, err := client.Send(t.Context(), hello); !notSent(err) {
			t.Errorf("what came later: %v", err)
		}
	})
}

// Out of manual mode signal-cli sends frames to every connection, so the one
// for calls has to read them too, at any rate.
func TestAFloodOfFramesDoesNotDrownAnAnswer(t *testing.T) {
	flood := strings.Repeat(unasked(strings.Repeat("x", 1000))+"\n", 2000)
	giant := strings.Repeat("y", transport.MaxFrame+1)
	client := listening(t, func(p *peer) {
		for {
			r, ok := p.next()
			if !ok {
				return
			}
			fmt.Fprint(p, flood)
			p.say("%s", giant)
			p.usual(r)
		}
	})
	for range 3 {
		if _, err := client.Send(t.Context(), hello); err != nil {
			t.Error(err)
		}
	}
	warnings, err := client.Check(t.Context())
	if err != nil || len(warnings) != 1 || warnings[0].Name != "signal_cli_not_manual" {
		t.Errorf("warned of %+v, %v", warnings, err)
	}
}

// lineLength is how long the line of a send of hello is.
func lineLength(t *testing.T) int {
	t.Helper()
	length := make(chan int, 1)
	client := listening(t, func(p *peer) {
		line, err := p.in.ReadBytes('\n')
		if err != nil {
			t.Error(err)
		}
		length <- len(line)
	})
	if _, err := client.Send(t.Context(), hello); !isUnknown(err) {
		t.Fatal(err)
	}
	return <-length
}
