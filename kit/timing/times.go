package timing

import (
	"fmt"
	"time"
)

// Times is where the time of one request went. The fields are disjoint: their
// sum is the time from Start to End, to the nanosecond.
type Times struct {
	Queue, Dispatch, Compute, Store, Upstream, Send time.Duration
}

// Total is the whole time of the request.
func (t Times) Total() time.Duration { return t.Own() + t.Upstream + t.Send }

// Own is what we answer for: everything but outside parties.
func (t Times) Own() time.Duration { return t.OwnWithoutStore() + t.Store }

// OwnWithoutStore is Own without our disk, for disks differ.
func (t Times) OwnWithoutStore() time.Duration { return t.Queue + t.Dispatch + t.Compute }

// Handler is the time from the handler's first moment to the end, whoever used
// it.
func (t Times) Handler() time.Duration { return t.Compute + t.Store + t.Upstream + t.Send }

// MarshalJSON writes the block of milliseconds that self-tests and logs show.
// Each number has exactly three decimals, whole microseconds. They are rounded
// so that the sums hold among the printed numbers as well:
//
//	own_ms     = queue_ms + dispatch_ms + handler_ms - send_ms - upstream_ms
//	own_ms     = queue_ms + dispatch_ms + compute_ms + store_ms
//	handler_ms = compute_ms + store_ms + upstream_ms + send_ms
//	total_ms   = queue_ms + dispatch_ms + handler_ms
//
// For that total_ms is the total rounded to the nearest microsecond, and a
// phase may be off by one microsecond. Binary floating point cannot hold most
// of the numbers: a reader who adds them up compares to within 1e-6 ms.
func (t Times) MarshalJSON() ([]byte, error) {
	t = t.microseconds()
	return fmt.Appendf(nil,
		`{"queue_ms":%s,"dispatch_ms":%s,"handler_ms":%s,"send_ms":%s,"upstream_ms":%s,"own_ms":%s,"compute_ms":%s,"store_ms":%s,"total_ms":%s}`,
		millis(t.Queue), millis(t.Dispatch), millis(t.Handler()), millis(t.Send), millis(t.Upstream), millis(t.Own()),
		millis(t.Compute), millis(t.Store), millis(t.Total())), nil
}

// microseconds rounds every phase to whole microseconds. It rounds the moments
// at which one phase would end and the next begin, were they laid end to end,
// so that the rounding errors do not add up.
func (t Times) microseconds() Times {
	var end, rounded time.Duration
	for _, p := range [...]*time.Duration{&t.Queue, &t.Dispatch, &t.Compute, &t.Store, &t.Upstream, &t.Send} {
		end += *p
		*p = end.Round(time.Microsecond) - rounded
		rounded += *p
	}
	return t
}

// millis writes whole microseconds as milliseconds.
func millis(d time.Duration) string {
	us := d.Microseconds()
	return fmt.Sprintf("%d.%03d", us/1000, us%1000)
}
