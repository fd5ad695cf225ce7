package signalnet_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quartet/sim/internal/latency"
	"quartet/sim/internal/signalnet"
)

func newNetwork(mode signalnet.ReceiveMode) *signalnet.Network {
	return signalnet.New(signalnet.Options{
		Number: "+15550100000", Groups: []signalnet.Group{signalnet.DemoGroup("Koty")}, Mode: mode, Seed: 1,
		Quirks: signalnet.Quirks(), Latency: latency.NewTable(1, signalnet.Operations()...), Log: slog.New(slog.DiscardHandler),
	})
}

func specs(n int) []signalnet.Spec {
	list := make([]signalnet.Spec, n)
	for i := range list {
		list[i] = signalnet.Spec{Text: "x", Sender: "11111111-1111-4111-8111-111111111111"}
	}
	return list
}

// running runs a network within a bubble until the test ends.
func running(t *testing.T, n *signalnet.Network) {
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = n.Run(ctx) })
	t.Cleanup(func() { stop(); wg.Wait() })
}

func TestSpacedFramesKeepAnAbsoluteSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(signalnet.OnStart)
		running(t, n)
		var at []time.Duration
		began := time.Now()
		n.Subscribe(signalnet.Passive, func(context.Context, signalnet.Frame) error {
			at = append(at, time.Since(began))
			if len(at) == 3 {
				time.Sleep(9 * time.Millisecond) // a subscriber that holds the thread up
			}
			return nil
		})
		if err := n.Enqueue(specs(10), 3*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		ms := time.Millisecond
		// The late ones follow at two thirds of the spacing until they are on schedule again.
		want := []time.Duration{0, 3 * ms, 6 * ms, 15 * ms, 17 * ms, 19 * ms, 21 * ms, 23 * ms, 25 * ms, 27 * ms}
		if len(at) != len(want) {
			t.Fatalf("frames came at %v", at)
		}
		for i := range want {
			if at[i] != want[i] {
				t.Fatalf("frames came at %v, want %v", at, want)
			}
		}
	})
}

func TestNoTwoMessagesOfASenderShareATimestamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(signalnet.OnStart)
		running(t, n)
		seen := map[int64]bool{}
		n.Subscribe(signalnet.Passive, func(_ context.Context, f signalnet.Frame) error {
			if seen[f.Spec.Timestamp] {
				t.Errorf("%d came twice", f.Spec.Timestamp)
			}
			seen[f.Spec.Timestamp] = true
			return nil
		})
		if err := n.Enqueue(specs(1000), 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(seen) != 1000 {
			t.Errorf("%d came", len(seen))
		}
	})
}

func TestMoreFramesThanFitAreRefusedWhole(t *testing.T) {
	n := newNetwork(signalnet.OnStart)
	if err := n.Enqueue(specs(300_000), 0); err != nil {
		t.Fatal(err)
	}
	if err := n.Enqueue(specs(1), 0); !errors.Is(err, signalnet.ErrFull) {
		t.Errorf("one more: %v", err)
	}
	if got := n.Queued(); got != 300_000 {
		t.Errorf("%d are queued", got)
	}
}

func TestBatchesWithoutSpacingKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(signalnet.OnStart)
		running(t, n)
		var texts string
		n.Subscribe(signalnet.Passive, func(_ context.Context, f signalnet.Frame) error {
			texts += f.Spec.Text
			return nil
		})
		for _, text := range []string{"a", "b", "c", "d"} {
			if err := n.Enqueue([]signalnet.Spec{{Text: text, Sender: "s"}}, 0); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if texts != "abcd" {
			t.Errorf("got %s", texts)
		}
	})
}

func TestResetForgetsWhatWasNotEmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(signalnet.Manual)
		running(t, n)
		if err := n.Enqueue(specs(3), 0); err != nil {
			t.Fatal(err)
		}
		if err := n.Enqueue(specs(100), time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5500 * time.Millisecond)
		synctest.Wait()
		if v := n.Stats(); v.Waiting != 9 || v.Queued != 94 {
			t.Errorf("before: %+v", v)
		}
		n.Reset()
		time.Sleep(time.Minute)
		synctest.Wait()
		if v := n.Stats(); v.Waiting != 0 || v.Queued != 0 || v.Emitted != 0 {
			t.Errorf("after: %+v", v)
		}
	})
}

func TestAFrameInFlightIsLostWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(signalnet.Manual)
		running(t, n)
		var leave func()
		got := 0
		leave = n.Subscribe(signalnet.Subscribed, func(context.Context, signalnet.Frame) error {
			if got++; got == 2 {
				leave()
				return errors.New("gone")
			}
			return nil
		})
		if err := n.Enqueue(specs(5), 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if v := n.Stats(); got != 2 || v.Waiting != 3 {
			t.Errorf("got %d, waiting %d", got, v.Waiting)
		}
		n.Subscribe(signalnet.Subscribed, func(context.Context, signalnet.Frame) error { got++; return nil })
		synctest.Wait()
		if got != 5 {
			t.Errorf("got %d in all", got)
		}
	})
}
