package timing_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"quartet/kit/timing"
)

// instruments returns instruments that record nothing.
func instruments(t testing.TB) *timing.Instruments {
	t.Helper()
	in, err := timing.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// ms sleeps for n milliseconds of the bubble's clock.
func ms(n time.Duration) { time.Sleep(n * time.Millisecond) }

func TestEveryMomentBelongsToOnePhase(t *testing.T) {
	in := instruments(t)
	tests := []struct {
		name string
		live func(ctx context.Context, r *timing.Record)
		want timing.Times
	}{
		{
			name: "a text command",
			live: func(ctx context.Context, r *timing.Record) {
				ms(1)
				r.Enter(timing.Dispatch)
				ms(2)
				r.Enter(timing.Compute)
				ms(3)
				_, send := timing.Send(ctx, in.Peer("signal"), "send")
				ms(400)
				send.End(true, nil)
				ms(4)
			},
			want: timing.Times{Queue: 1, Dispatch: 2, Compute: 7, Send: 400},
		},
		{
			name: "overlapping upstream calls count once",
			live: func(ctx context.Context, r *timing.Record) {
				r.Enter(timing.Compute)
				_, a := timing.Upstream(ctx, in.Peer("cats"), "search")
				ms(10)
				_, b := timing.Upstream(ctx, in.Peer("dogs"), "search")
				ms(10)
				a.End(false, nil)
				ms(10)
				b.End(false, nil)
				ms(5)
			},
			want: timing.Times{Compute: 5, Upstream: 30},
		},
		{
			name: "send covers upstream, upstream covers store",
			live: func(ctx context.Context, r *timing.Record) {
				r.Enter(timing.Compute)
				r.BeginStore()
				ms(1)
				_, up := timing.Upstream(ctx, in.Peer("cats"), "search")
				ms(2)
				_, send := timing.Send(ctx, in.Peer("signal"), "send")
				ms(4)
				r.EndStore()
				ms(8)
				send.End(false, nil)
				ms(16)
				up.End(false, nil)
				ms(32)
			},
			want: timing.Times{Compute: 32, Store: 1, Upstream: 18, Send: 12},
		},
		{
			name: "nested stores count once",
			live: func(_ context.Context, r *timing.Record) {
				r.BeginStore()
				ms(1)
				r.BeginStore()
				ms(1)
				r.EndStore()
				ms(1)
				r.EndStore()
				ms(1)
			},
			want: timing.Times{Queue: 1, Store: 3},
		},
		{
			name: "waiting for another request's call is upstream",
			live: func(ctx context.Context, r *timing.Record) {
				r.Enter(timing.Compute)
				done := timing.CacheWait(ctx)
				ms(7)
				done(nil)
				ms(1)
			},
			want: timing.Times{Compute: 1, Upstream: 7},
		},
		{
			name: "the base moves on under a wait",
			live: func(_ context.Context, r *timing.Record) {
				r.BeginStore()
				r.Enter(timing.Dispatch)
				ms(1)
				r.EndStore()
				ms(2)
			},
			want: timing.Times{Store: 1, Dispatch: 2},
		},
		{
			name: "more calls than fit into the record",
			live: func(ctx context.Context, r *timing.Record) {
				r.Enter(timing.Compute)
				for range 10 {
					_, call := timing.Upstream(ctx, in.Peer("cats"), "search")
					ms(1)
					call.End(false, nil)
					ms(1)
				}
			},
			want: timing.Times{Compute: 10, Upstream: 10},
		},
		{
			name: "an end too many ends nothing",
			live: func(ctx context.Context, r *timing.Record) {
				r.EndStore()
				r.BeginStore()
				ms(1)
				r.EndStore()
				_, call := timing.Upstream(ctx, in.Peer("cats"), "search")
				call.End(false, nil)
				_, other := timing.Upstream(ctx, in.Peer("cats"), "search")
				call.End(false, nil)
				ms(2)
				other.End(false, nil)
			},
			want: timing.Times{Store: 1, Upstream: 2},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r timing.Record
				r.Start(time.Now())
				tt.live(r.Begin(t.Context(), in.Operation("op"), trace.SpanKindServer), &r)
				if got, want := r.End(timing.OK, nil), scale(tt.want); got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		})
	}
}

// scale turns numbers of milliseconds into durations.
func scale(t timing.Times) timing.Times {
	for _, d := range []*time.Duration{&t.Queue, &t.Dispatch, &t.Compute, &t.Store, &t.Upstream, &t.Send} {
		*d *= time.Millisecond
	}
	return t
}

func TestNothingChangesARecordThatEnded(t *testing.T) {
	in := instruments(t)
	synctest.Test(t, func(t *testing.T) {
		var r timing.Record
		r.Start(time.Now())
		ctx := r.Begin(t.Context(), in.Operation("op"), trace.SpanKindServer)
		_, call := timing.Upstream(ctx, in.Peer("cats"), "search")
		ms(1)
		first := r.End(timing.OK, nil)
		ms(1)
		call.End(false, nil)
		r.Enter(timing.Compute)
		r.BeginStore()
		ms(1)
		_, late := timing.Send(ctx, in.Peer("signal"), "send")
		ms(1)
		late.End(false, nil)
		if again := r.End(timing.InternalError, errors.New("late")); again != first || first != scale(timing.Times{Upstream: 1}) {
			t.Errorf("first %+v, again %+v", first, again)
		}
	})
}

func TestAnEndedRecordMayStartAgain(t *testing.T) {
	in := instruments(t)
	synctest.Test(t, func(t *testing.T) {
		var r timing.Record
		for n := range 3 {
			r.Start(time.Now())
			ctx := r.Begin(t.Context(), in.Operation(fmt.Sprint(n)), trace.SpanKindServer)
			ms(1)
			r.Enter(timing.Compute)
			r.BeginStore()
			for range 6 {
				timing.Upstream(ctx, in.Peer("cats"), "search")
			}
			ms(2)
			if got := r.End(timing.OK, nil); got != scale(timing.Times{Queue: 1, Upstream: 2}) {
				t.Errorf("life %d: %+v", n, got)
			}
		}
	})
}

func TestAStartedRecordKeepsItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r timing.Record
		r.Start(time.Now())
		ms(1)
		r.Start(time.Now())
		ms(1)
		if got := r.End(timing.OK, nil); got.Total() != 2*time.Millisecond {
			t.Errorf("got %+v", got)
		}
	})
}

func TestARecordThatNeverStartedStaysZero(t *testing.T) {
	var r timing.Record
	r.Enter(timing.Compute)
	r.BeginStore()
	r.EndStore()
	if got := r.End(timing.OK, nil); got != (timing.Times{}) {
		t.Errorf("got %+v", got)
	}
}

func TestBeginStartsARecordThatWasNot(t *testing.T) {
	in := instruments(t)
	synctest.Test(t, func(t *testing.T) {
		var r timing.Record
		r.Begin(t.Context(), in.Operation("op"), trace.SpanKindServer)
		ms(3)
		if got := r.End(timing.OK, nil); got != scale(timing.Times{Queue: 3}) {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAStartInTheFutureCountsFromThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r timing.Record
		r.Start(time.Now().Add(2 * time.Millisecond))
		ms(1)
		r.Enter(timing.Compute)
		ms(4)
		if got := r.End(timing.OK, nil); got != scale(timing.Times{Compute: 3}) {
			t.Errorf("got %+v", got)
		}
	})
}

func TestANilRecordDoesNothing(t *testing.T) {
	in := instruments(t)
	var r *timing.Record
	r.Start(time.Now())
	ctx := r.Begin(t.Context(), in.Operation("op"), trace.SpanKindServer)
	if ctx != t.Context() {
		t.Error("Begin made a context of its own")
	}
	r.Enter(timing.Compute)
	r.BeginStore()
	r.EndStore()
	timing.CacheWait(ctx)(nil)
	_, call := timing.Upstream(ctx, in.Peer("cats"), "search")
	call.End(true, nil)
	if got := r.End(timing.OK, nil); got != (timing.Times{}) {
		t.Errorf("got %+v", got)
	}
}

func TestTheContextCarriesTheRecord(t *testing.T) {
	in := instruments(t)
	type key struct{}
	parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
	if timing.FromContext(parent) != nil {
		t.Error("a record out of nowhere")
	}
	var r timing.Record
	r.Start(time.Now())
	ctx := r.Begin(parent, in.Operation("op"), trace.SpanKindServer)
	child, stop := context.WithTimeout(ctx, time.Hour)
	defer stop()
	if timing.FromContext(child) != &r {
		t.Error("the record is not in a context below")
	}
	if child.Value(key{}) != "value" {
		t.Error("values of the contexts above are lost")
	}
	if again := r.Begin(child, in.Operation("other"), trace.SpanKindServer); again != child {
		t.Error("a second Begin did something")
	}
	cause := errors.New("stopped")
	cancel(cause)
	<-child.Done()
	if !errors.Is(context.Cause(child), cause) {
		t.Errorf("cause is %v", context.Cause(child))
	}
}

func TestManyGoroutinesShareARecord(t *testing.T) {
	in := instruments(t)
	for range 20 {
		var r timing.Record
		began := time.Now()
		r.Start(began)
		ctx := r.Begin(t.Context(), in.Operation("op"), trace.SpanKindServer)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 200 {
					switch rand.IntN(6) {
					case 0:
						r.Enter(timing.Phase(rand.IntN(3)))
					case 1:
						r.BeginStore()
						r.EndStore()
					case 2, 3:
						_, call := timing.Upstream(ctx, in.Peer("cats"), "search")
						call.End(rand.IntN(2) == 0, nil)
						call.End(false, nil)
					case 4:
						_, call := timing.Send(ctx, in.Peer("signal"), "send")
						call.End(true, errors.New("refused"))
					case 5:
						timing.CacheWait(ctx)(nil)
					}
				}
			})
		}
		ends := make(chan timing.Times, 3)
		if rand.IntN(2) == 0 { // in the middle of it, or after it
			wg.Wait()
		}
		before := time.Since(began)
		for range cap(ends) {
			go func() { ends <- r.End(timing.OK, nil) }()
		}
		first := <-ends
		for range cap(ends) - 1 {
			if other := <-ends; other != first {
				t.Errorf("ended as %+v and as %+v", first, other)
			}
		}
		if total := first.Total(); total < before || total > time.Since(began) {
			t.Errorf("total %v, the request took between %v and %v", total, before, time.Since(began))
		}
		wg.Wait()
	}
}
