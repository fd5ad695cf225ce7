package telemetry_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"quartet/kit/telemetry"
	"quartet/kit/timing"
)

// start starts telemetry on a free port of loopback and serves it until the test
// ends.
func start(t *testing.T, o telemetry.Options) *telemetry.Telemetry {
	t.Helper()
	o.Service, o.Version, o.AdminAddr = "botd", "1.2.3", "127.0.0.1:0"
	tel, err := telemetry.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- tel.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		flush, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		_ = tel.Shutdown(flush) // tests that care call it themselves
	})
	return tel
}

// get returns the status and body of one GET to the admin server.
func get(t *testing.T, tel *telemetry.Telemetry, path, accept string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+tel.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// request lives one request with one upstream call and one send.
func request(ctx context.Context, in *timing.Instruments) timing.Times {
	var r timing.Record
	r.Start(time.Now())
	ctx = r.Begin(ctx, in.Operation("cat"), trace.SpanKindConsumer)
	r.Enter(timing.Dispatch)
	r.Enter(timing.Compute)
	_, call := timing.Upstream(ctx, in.Peer("thecatapi"), "search")
	call.End(true, nil)
	_, call = timing.Send(ctx, in.Peer("signal"), "send")
	call.End(true, nil)
	return r.End(timing.OK, nil)
}

// collector is an OTLP/HTTP receiver.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
	attrs map[string]string // of the resource
	posts map[string]int    // by path
}

func collect(t *testing.T) *collector {
	c := &collector{attrs: map[string]string{}, posts: map[string]int{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.posts[r.URL.Path]++
		if r.URL.Path != "/v1/traces" {
			return
		}
		var got coltrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &got); err != nil {
			t.Error(err)
		}
		for _, resource := range got.ResourceSpans {
			for _, a := range resource.Resource.Attributes {
				c.attrs[a.Key] = a.Value.GetStringValue()
			}
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// seconds returns a span's timing attributes, in nanoseconds.
func seconds(s *tracepb.Span) map[string]time.Duration {
	times := map[string]time.Duration{}
	for _, a := range s.Attributes {
		if name, ok := strings.CutPrefix(a.Key, "quartet.timing."); ok {
			times[name] = time.Duration(a.Value.GetDoubleValue()*1e9 + 0.5)
		}
	}
	return times
}
