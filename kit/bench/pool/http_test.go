package pool_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/net/http/httptrace/otelhttptrace"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"quartet/kit/bench/cpu"
	"quartet/kit/pool"
)

// The figures hold client and server: both are in this process. OpenTelemetry's
// peers get no-op providers and quartet a hook that does nothing, so that
// they compare what it costs to watch a call, not to export what was seen.

type doer func(*http.Request) (*http.Response, error)

// peers are the same call, watched in different ways.
func peers(b *testing.B, like *http.Transport) map[string]doer {
	instrumented := func(o ...otelhttp.Option) doer {
		o = append(o, otelhttp.WithTracerProvider(tracenoop.NewTracerProvider()), otelhttp.WithMeterProvider(metricnoop.NewMeterProvider()))
		return (&http.Client{Transport: otelhttp.NewTransport(transport(b, like), o...)}).Do
	}
	trace := func(ctx context.Context) *httptrace.ClientTrace {
		return otelhttptrace.NewClientTrace(ctx, otelhttptrace.WithoutSubSpans(), otelhttptrace.WithTracerProvider(tracenoop.NewTracerProvider()))
	}
	c := pool.New("peer", pool.Options{TLS: like.TLSClientConfig, Start: watch})
	b.Cleanup(c.CloseIdle)
	return map[string]doer{
		"plain":                  (&http.Client{Transport: transport(b, like)}).Do,
		"quartet":                func(req *http.Request) (*http.Response, error) { return c.Do("bench", req) },
		"otelhttp":               instrumented(),
		"otelhttp+otelhttptrace": instrumented(otelhttp.WithClientTrace(trace)),
	}
}

var names = []string{"plain", "quartet", "otelhttp", "otelhttp+otelhttptrace"}

func transport(b *testing.B, like *http.Transport) *http.Transport {
	t := like.Clone()
	b.Cleanup(t.CloseIdleConnections)
	return t
}

func watch(ctx context.Context, _ string) (context.Context, func(pool.Call)) {
	return ctx, func(pool.Call) {}
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

func servers(b *testing.B) (plain, secure *httptest.Server) {
	plain, secure = httptest.NewServer(http.HandlerFunc(hello)), httptest.NewTLSServer(http.HandlerFunc(hello))
	b.Cleanup(plain.Close)
	b.Cleanup(secure.Close)
	return plain, secure
}

func call(b *testing.B, do doer, url string, last bool) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Close = last
	resp, err := do(req)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		b.Fatal(err)
	}
	resp.Body.Close()
}

func run(b *testing.B, s *httptest.Server, last bool) {
	all := peers(b, s.Client().Transport.(*http.Transport))
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			defer cpu.PerOp(b)()
			for b.Loop() {
				call(b, all[name], s.URL, last)
			}
		})
	}
}

// BenchmarkHTTP is a GET over a kept connection.
func BenchmarkHTTP(b *testing.B) {
	s, _ := servers(b)
	run(b, s, false)
}

// BenchmarkHTTPNewConn dials for each GET.
func BenchmarkHTTPNewConn(b *testing.B) {
	s, _ := servers(b)
	run(b, s, true)
}

// BenchmarkHTTPS is a GET over a kept connection with TLS.
func BenchmarkHTTPS(b *testing.B) {
	_, s := servers(b)
	run(b, s, false)
}

// BenchmarkHTTPSNewConn dials and shakes hands for each GET. Quartet resumes
// TLS sessions, which net/http does not unless told to.
func BenchmarkHTTPSNewConn(b *testing.B) {
	_, s := servers(b)
	run(b, s, true)
}
