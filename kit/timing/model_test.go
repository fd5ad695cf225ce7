package timing_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"quartet/kit/timing"
)

// player lives a request's life through a script, on a record and on a model of
// it. The model keeps every interval and works out the phases at the end in the
// simplest way there is: the time between two neighbouring moments goes to the
// highest phase that covers it.
type player struct {
	record  timing.Record
	moments []time.Time

	bases   []wait // phases that Enter chose, the last one open
	waits   []wait // for the disk, and for another request's call
	calls   []wait
	overall []wait // all the others, once they ended
}

// wait is an interval of one phase; its end is zero while it is open.
type wait struct {
	phase    string
	from, to time.Time
	call     *timing.Call
	done     func(error) // of CacheWait
}

// play runs script, two bytes an event: what happens, and how long after the
// event before it. It must run in a synctest bubble, where time is exact.
func play(t *testing.T, script []byte) (*player, timing.Times) {
	p := &player{}
	in, err := timing.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	p.moments = append(p.moments, start)
	p.bases = append(p.bases, wait{phase: "queue", from: start})
	p.record.Start(start)
	ctx := p.record.Begin(t.Context(), in.Operation("play"), trace.SpanKindServer)
	peer := in.Peer("peer")

	for ; len(script) >= 2; script = script[2:] {
		gap := time.Duration(script[1])
		time.Sleep(gap * gap * gap) // nothing, to 16 milliseconds
		now := time.Now()
		p.moments = append(p.moments, now)
		what, which := script[0]%10, int(script[0]/10)
		switch what {
		case 0, 1, 2:
			phase := timing.Phase(what)
			p.record.Enter(phase)
			p.bases[len(p.bases)-1].to = now
			p.bases = append(p.bases, wait{phase: phase.String(), from: now})
		case 3:
			p.record.BeginStore()
			p.waits = append(p.waits, wait{phase: "store", from: now})
		case 4:
			p.waits = append(p.waits, wait{phase: "upstream", from: now, done: timing.CacheWait(ctx)})
		case 5:
			_, call := timing.Upstream(ctx, peer, "ask")
			p.calls = append(p.calls, wait{phase: "upstream", from: now, call: call})
		case 6:
			_, call := timing.Send(ctx, peer, "tell")
			p.calls = append(p.calls, wait{phase: "send", from: now, call: call})
		case 7:
			p.endWait(now, which)
		case 8:
			p.endCall(now, which)
		case 9: // a second End of any call ends nothing
			if ended := slices.DeleteFunc(slices.Clone(p.overall), func(w wait) bool { return w.call == nil }); len(ended) > 0 {
				ended[which%len(ended)].call.End(true, nil)
			}
		}
	}
	return p, p.record.End(timing.OK, nil)
}

func (p *player) endWait(now time.Time, which int) {
	if len(p.waits) == 0 {
		return
	}
	i := which % len(p.waits)
	if p.waits[i].phase == "store" {
		p.record.EndStore()
	} else {
		p.waits[i].done(nil)
	}
	p.waits[i].to = now
	p.overall = append(p.overall, p.waits[i])
	p.waits = slices.Delete(p.waits, i, i+1)
}

func (p *player) endCall(now time.Time, which int) {
	if len(p.calls) == 0 {
		return
	}
	i := which % len(p.calls)
	p.calls[i].call.End(false, nil)
	p.calls[i].to = now
	p.overall = append(p.overall, p.calls[i])
	p.calls = slices.Delete(p.calls, i, i+1)
}

// expected is what the model says.
func (p *player) expected() timing.Times {
	spent := map[string]time.Duration{}
	covers := slices.Concat(p.overall, p.waits, p.calls)
	for i := 1; i < len(p.moments); i++ {
		from, to := p.moments[i-1], p.moments[i]
		top := ""
		for _, phase := range []string{"send", "upstream", "store"} {
			if top == "" && covered(covers, phase, from, to) {
				top = phase
			}
		}
		for _, phase := range []string{"queue", "dispatch", "compute"} {
			if top == "" && covered(p.bases, phase, from, to) {
				top = phase
			}
		}
		spent[top] += to.Sub(from)
	}
	return timing.Times{
		Queue: spent["queue"], Dispatch: spent["dispatch"], Compute: spent["compute"],
		Store: spent["store"], Upstream: spent["upstream"], Send: spent["send"],
	}
}

func covered(waits []wait, phase string, from, to time.Time) bool {
	return from.Before(to) && slices.ContainsFunc(waits, func(w wait) bool {
		return w.phase == phase && !from.Before(w.from) && (w.to.IsZero() || !to.After(w.to))
	})
}

// check holds a script's record against its model.
func check(t *testing.T, script []byte) {
	p, got := play(t, script)
	if want := p.expected(); got != want {
		t.Errorf("script %x:\n got %+v\nwant %+v", script, got, want)
	}
	if whole := p.moments[len(p.moments)-1].Sub(p.moments[0]); got.Total() != whole {
		t.Errorf("script %x: total %v, the request took %v", script, got.Total(), whole)
	}
	if got.Own()+got.Upstream+got.Send != got.Total() || got.Queue+got.Dispatch+got.Handler() != got.Total() {
		t.Errorf("script %x: sums do not hold: %+v", script, got)
	}
}

func TestPhasesAreTheUnionOfIntervals(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		script := make([]byte, 2*random.IntN(60))
		for i := range script {
			script[i] = byte(random.UintN(256))
		}
		synctest.Test(t, func(t *testing.T) { check(t, script) })
	}
}

func FuzzPhasesAreTheUnionOfIntervals(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 10, 2, 10, 5, 10, 5, 10, 8, 10, 8, 10})       // two calls that overlap
	f.Add([]byte{2, 1, 5, 1, 6, 1, 8, 1, 18, 1, 8, 1})            // a send inside an upstream call
	f.Add([]byte{2, 0, 3, 0, 3, 0, 7, 0, 5, 0, 7, 0, 8, 255})     // everything at once
	f.Add([]byte{2, 9, 5, 9, 8, 9, 9, 9, 5, 9, 9, 9, 8, 9, 0, 9}) // a second End of an old call
	f.Add([]byte{2, 9, 4, 9, 3, 9, 17, 9, 6, 9, 7, 9, 1, 9, 8, 9})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 1000 {
			t.Skip("longer scripts say nothing new")
		}
		synctest.Test(t, func(t *testing.T) { check(t, script) })
	})
}
