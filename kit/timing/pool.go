package timing

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"

	"quartet/kit/pool"
)

// StartUpstream is the pool.Options.Start of a client whose calls are upstream
// of our requests.
func (p *Peer) StartUpstream(ctx context.Context, operation string) (context.Context, func(pool.Call)) {
	ctx, c := Upstream(ctx, p, operation)
	return ctx, func(done pool.Call) { p.endPoolCall(c, done) }
}

// StartSend is the pool.Options.Start of a client whose calls are our outgoing
// effects. A client that makes both kinds chooses by the operation.
func (p *Peer) StartSend(ctx context.Context, operation string) (context.Context, func(pool.Call)) {
	ctx, c := Send(ctx, p, operation)
	return ctx, func(done pool.Call) { p.endPoolCall(c, done) }
}

// endPoolCall records what the pool measured. An answer that says error counts
// as one, though the pool delivered it.
func (p *Peer) endPoolCall(c *Call, done pool.Call) {
	for i, took := range [...]time.Duration{done.DNS, done.Connect, done.TLS} {
		if took > 0 {
			p.in.wait.handshake.Record(c.exemplar, took.Seconds(), p.handshake[i]...)
		}
	}
	if c.span != nil && done.Status != 0 {
		c.span.SetAttributes(keyHTTPStatus.Int(done.Status))
	}
	err := done.Err
	if err == nil && done.Status >= 400 {
		err = statusError(done.Status)
	}
	c.End(done.Reused, err)
}

// statusError is an HTTP status that says error.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("HTTP status %d", int(e)) }

// CacheWait is the pool.CacheOptions.Wait of a cache in front of an outside
// party. All who wait for one fetch are upstream, though a single one of them,
// or none, makes the call.
func CacheWait(ctx context.Context) func(error) {
	r := FromContext(ctx)
	r.cover(upstream)
	return func(error) { r.uncover(upstream) }
}

// ObservePool shows the connections of c.
func (in *Instruments) ObservePool(c *pool.Client) { in.pools.add(c.Stats) }

// ObserveCache shows how m, a *pool.Cache of any type, answered.
func (in *Instruments) ObserveCache(m interface{ Stats() pool.CacheStats }) { in.caches.add(m.Stats) }

func (in *Instruments) buildPools(b *builder) {
	in.wait.handshake = b.seconds(namePoolHandshake, "Stages of opening a connection.", waitBounds)
	connections := b.level(namePoolConnections, "{connection}", "Open connections, by state.")
	requests := b.counter(nameCacheRequests, "{request}", "Requests to a cache, by what it had.")

	b.observe(func(o metric.Observer) {
		in.pools.each(func(s pool.Stats) {
			observe := func(state string, n int64) {
				o.ObserveInt64(connections, n, metric.WithAttributes(keyPeer.String(s.Name), keyState.String(state)))
			}
			observe(stateIdle, s.Idle)
			observe(stateBusy, s.Open-s.Idle)
		})
		in.caches.each(func(s pool.CacheStats) {
			observe := func(result string, n uint64) {
				o.ObserveInt64(requests, int64(n), metric.WithAttributes(keyCache.String(s.Name), keyResult.String(result)))
			}
			observe(resultHit, s.Hits)
			observe(resultMiss, s.Misses)
			observe(resultStale, s.Stale)
			observe(resultError, s.Errors)
		})
	}, connections, requests)
}
