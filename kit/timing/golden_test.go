package timing_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"quartet/kit/budget"
	"quartet/kit/journal"
	"quartet/kit/journal/powerloss"
	"quartet/kit/lockmap"
	"quartet/kit/pool"
	"quartet/kit/timing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestNamesStayAsTheyAre makes every instrument and span there is and holds
// their names, units, kinds, buckets and attribute keys to the golden file.
func TestNamesStayAsTheyAre(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	spans := tracetest.NewInMemoryExporter()
	in, err := timing.New(
		sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
		sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
	)
	if err != nil {
		t.Fatal(err)
	}
	useEverything(t, in)
	compare(t, "testdata/attributes.golden", describe(collect(t, reader), spans.GetSpans()))
}

// useEverything uses each instrument with each of its attributes.
func useEverything(t *testing.T, in *timing.Instruments) {
	synctest.Test(t, func(t *testing.T) {
		useRequests(t, in)
		useBudget(t, in)
		useLock(t, in)
	})
	usePool(t, in)
	useJournal(t, in)
	in.ObserveTelemetryErrors(func() int64 { return 1 })
}

func useRequests(t *testing.T, in *timing.Instruments) {
	for o := timing.OK; o <= timing.InternalError; o++ {
		var r timing.Record
		r.Start(time.Now())
		ms(1)
		ctx := r.Begin(t.Context(), in.Operation("cat"), trace.SpanKindConsumer)
		r.Enter(timing.Dispatch)
		ms(1)
		r.Enter(timing.Compute)
		ms(1)
		r.BeginStore()
		ms(1)
		r.EndStore()
		_, call := timing.Upstream(ctx, in.Peer("thecatapi"), "search")
		ms(1)
		call.End(false, context.DeadlineExceeded)
		_, call = timing.Send(ctx, in.Peer("signal"), "send")
		ms(1)
		call.End(true, nil)
		r.End(o, nil)
	}
}

func useBudget(t *testing.T, in *timing.Instruments) {
	b := budget.New("slots", 1, budget.Options{OnWait: in.BudgetWait("slots")})
	in.ObserveBudget(b)
	lease, err := b.Acquire(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := b.Acquire(ctx, 1); err == nil {
		t.Fatal("a second lease of one unit")
	}
	lease.Release()
}

func useLock(t *testing.T, in *timing.Instruments) {
	m := lockmap.New[string]("sender", lockmap.Options{OnWait: in.LockWait("sender"), OnHold: in.LockHold("sender")})
	in.ObserveLock(m)
	if err := m.Lock(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := m.Lock(ctx, "key"); err == nil {
		t.Fatal("a key locked twice")
	}
	m.Unlock("key")
}

func usePool(t *testing.T, in *timing.Instruments) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))
	defer server.Close()
	client := pool.New("thecatapi", pool.Options{
		Start: in.Peer("thecatapi").StartUpstream,
		TLS:   server.Client().Transport.(*http.Transport).TLSClientConfig,
	})
	defer client.CloseIdle()
	in.ObservePool(client)
	cache := pool.NewCache("pictures", pool.CacheOptions{Wait: timing.CacheWait}, func(ctx context.Context, url string) (int, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return 0, err
		}
		resp, err := client.Do("picture", req)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	})
	defer cache.Close()
	in.ObserveCache(cache)
	_, done := in.Peer("signal").StartSend(t.Context(), "send")
	done(pool.Call{DNS: 1, Status: http.StatusCreated, Reused: true, Err: context.Canceled})
	if status, err := cache.Get(t.Context(), server.URL); err != nil || status != http.StatusNotFound {
		t.Fatal(status, err)
	}
}

func useJournal(t *testing.T, in *timing.Instruments) {
	log, err := journal.Open(powerloss.New(), "state", journal.Options{
		OnWrite: in.JournalWrite("state"), OnSync: in.JournalSync("state"), Always: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	in.ObserveJournal("state", log)
	if _, err := log.Append([]byte("record")); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func collect(t *testing.T, reader sdkmetric.Reader) []metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.ScopeMetrics) != 1 {
		t.Fatalf("%d scopes", len(all.ScopeMetrics))
	}
	return all.ScopeMetrics[0].Metrics
}

// describe prints everything that dashboards and other services depend on.
func describe(metrics []metricdata.Metrics, spans tracetest.SpanStubs) string {
	var b strings.Builder
	slices.SortFunc(metrics, func(a, b metricdata.Metrics) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range metrics {
		kind, bounds, sets := points(m.Data)
		fmt.Fprintf(&b, "%s\n  %s, unit %s\n  %s\n", m.Name, kind, m.Unit, m.Description)
		if len(bounds) > 0 {
			fmt.Fprintf(&b, "  buckets %v\n", bounds)
		}
		b.WriteString(values(sets))
	}
	for _, s := range spans {
		slices.SortFunc(s.Attributes, func(a, b attribute.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
	}
	byKind := map[string][]attribute.Set{}
	for _, s := range spans {
		byKind[s.SpanKind.String()] = append(byKind[s.SpanKind.String()], attribute.NewSet(s.Attributes...))
	}
	for _, kind := range []string{"consumer", "client"} {
		fmt.Fprintf(&b, "span of kind %s\n%s", kind, values(byKind[kind]))
	}
	return b.String()
}

// points takes a metric's data apart: kind, bounds, and attributes of each point.
func points(data metricdata.Aggregation) (kind string, bounds []float64, sets []attribute.Set) {
	switch d := data.(type) {
	case metricdata.Histogram[float64]:
		kind = "histogram"
		for _, p := range d.DataPoints {
			bounds, sets = p.Bounds, append(sets, p.Attributes)
		}
	case metricdata.Sum[int64]:
		kind = map[bool]string{true: "counter", false: "updowncounter"}[d.IsMonotonic]
		for _, p := range d.DataPoints {
			sets = append(sets, p.Attributes)
		}
	}
	return kind, bounds, sets
}

// values prints each key with its values, where these are words of ours.
func values(sets []attribute.Set) string {
	seen := map[attribute.Key][]string{}
	for _, set := range sets {
		for _, kv := range set.ToSlice() {
			value := kv.Value.String()
			if kv.Value.Type() == attribute.FLOAT64 {
				value = "seconds"
			}
			if !slices.Contains(seen[kv.Key], value) {
				seen[kv.Key] = append(seen[kv.Key], value)
			}
		}
	}
	var lines []string
	for key, values := range seen {
		slices.Sort(values)
		lines = append(lines, fmt.Sprintf("  %s: %s\n", key, strings.Join(values, " ")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// compare holds got to a golden file, or rewrites it.
func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if that is meant, run with -update and read the diff. Now it is:\n%s", file, got)
	}
}
