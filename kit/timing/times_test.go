package timing_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"quartet/kit/timing"
)

func TestTheBlockOfMillisecondsAddsUp(t *testing.T) {
	fixed := timing.Times{
		Queue: 1_499, Dispatch: 1_499, Compute: 1_499, Store: 1_499,
		Upstream: 386 * time.Millisecond, Send: 2648*time.Millisecond + 1,
	}
	text, err := json.Marshal(fixed)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"queue_ms":0.001,"dispatch_ms":0.002,"handler_ms":3034.003,"send_ms":2648.000,` +
		`"upstream_ms":386.000,"own_ms":0.006,"compute_ms":0.001,"store_ms":0.002,"total_ms":3034.006}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	for range 1000 {
		var times timing.Times
		for _, d := range []*time.Duration{&times.Queue, &times.Dispatch, &times.Compute, &times.Store, &times.Upstream, &times.Send} {
			*d = time.Duration(rand.Int64N(int64(3 * time.Second)))
		}
		checkBlock(t, times)
	}
}

// checkBlock reads the block back as integers, microseconds, and holds the sums
// that its comment promises.
func checkBlock(t *testing.T, times timing.Times) {
	t.Helper()
	text, err := json.Marshal(times)
	if err != nil {
		t.Fatal(err)
	}
	var block map[string]float64
	if err := json.Unmarshal(text, &block); err != nil {
		t.Fatal(err)
	}
	us := func(name string) int64 { return int64(block[name]*1000 + 0.5) }
	if us("own_ms") != us("queue_ms")+us("dispatch_ms")+us("handler_ms")-us("send_ms")-us("upstream_ms") ||
		us("own_ms") != us("queue_ms")+us("dispatch_ms")+us("compute_ms")+us("store_ms") ||
		us("handler_ms") != us("compute_ms")+us("store_ms")+us("upstream_ms")+us("send_ms") ||
		us("total_ms") != us("queue_ms")+us("dispatch_ms")+us("handler_ms") {
		t.Errorf("sums do not hold: %s", text)
	}
	if us("total_ms") != times.Total().Round(time.Microsecond).Microseconds() {
		t.Errorf("total_ms is not %v rounded: %s", times.Total(), text)
	}
	for name, exact := range map[string]time.Duration{
		"queue_ms": times.Queue, "dispatch_ms": times.Dispatch, "compute_ms": times.Compute,
		"store_ms": times.Store, "upstream_ms": times.Upstream, "send_ms": times.Send,
	} {
		if off := exact - time.Duration(us(name))*time.Microsecond; off.Abs() > time.Microsecond {
			t.Errorf("%s is off by %v from %v", name, off, exact)
		}
	}
}
