package timing_test

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"quartet/kit/budget"
	"quartet/kit/lockmap"
	"quartet/kit/pool"
	"quartet/kit/timing"
)

// message is what a service carries through its stages. The record travels in
// it by value.
type message struct {
	text   string
	timing timing.Record
}

// A request passes its stages, asks an outside party, sends its reply.
func Example() {
	in, err := timing.New(nil, nil) // a main takes them from kit/telemetry
	if err != nil {
		fmt.Println(err)
		return
	}
	cats, signal := in.Peer("thecatapi"), in.Peer("signal")
	cat := in.Operation("cat")

	m := &message{text: "!cat"}
	m.timing.Start(time.Now())      // its frame was read: it queues
	m.timing.Enter(timing.Dispatch) // it has its slot
	ctx := m.timing.Begin(context.Background(), cat, trace.SpanKindConsumer)
	m.timing.Enter(timing.Compute) // its handler runs

	_, call := timing.Upstream(ctx, cats, "search")
	call.End(false, nil)
	_, call = timing.Send(ctx, signal, "send")
	call.End(false, nil)

	t := m.timing.End(timing.OK, nil)
	fmt.Println(t.Own() == t.Total()-t.Upstream-t.Send)
	// Output: true
}

// One line for each of the kit's parts that a service has.
func ExampleInstruments_ObserveBudget() {
	in, err := timing.New(nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	slots := budget.New("slots", 8, budget.Options{OnWait: in.BudgetWait("slots")})
	senders := lockmap.New[string]("sender", lockmap.Options{OnWait: in.LockWait("sender"), OnHold: in.LockHold("sender")})
	cats := pool.New("thecatapi", pool.Options{Start: in.Peer("thecatapi").StartUpstream})
	pictures := pool.NewCache("pictures", pool.CacheOptions{TTL: time.Minute, Wait: timing.CacheWait},
		func(_ context.Context, tag string) (string, error) { return "https://example.org/" + tag, nil })
	defer pictures.Close()

	in.ObserveBudget(slots)
	in.ObserveLock(senders)
	in.ObservePool(cats)
	in.ObserveCache(pictures)
	// Output:
}
