package telemetry_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"quartet/kit/telemetry"
)

func TestHealthcheckSaysWhatReadinessSays(t *testing.T) {
	var sick atomic.Bool
	tel := start(t, telemetry.Options{Ready: func(context.Context) error {
		if sick.Load() {
			return errors.New("signal is not connected")
		}
		return nil
	}})
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	_, port, err := net.SplitHostPort(tel.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", ""} {
		sick.Store(false)
		addr := net.JoinHostPort(host, port)
		if err := telemetry.Healthcheck(t.Context(), addr); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
		sick.Store(true)
		if err := telemetry.Healthcheck(t.Context(), addr); err == nil || err.Error() != "not ready: signal is not connected" {
			t.Errorf("%s, not ready: %v", addr, err)
		}
	}
}

func TestHealthcheckSaysWhyNobodyAnswers(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	hanging, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hanging.Close()
	for addr, says := range map[string]string{
		"9101":                         "host:port",
		"127.0.0.1:1":                  "connection refused",
		"[::]:1":                       "[::1]:1",
		other.Listener.Addr().String(): "404",
		hanging.Addr().String():        "no answer within 4s",
	} {
		if err := telemetry.Healthcheck(t.Context(), addr); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", addr, err, says)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupt signal received"))
	if err := telemetry.Healthcheck(ctx, hanging.Addr().String()); err == nil || err.Error() != "interrupt signal received" {
		t.Errorf("when told to stop: %v", err)
	}
}
