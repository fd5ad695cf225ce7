package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"quartet/kit/telemetry"
)

func TestReadinessGivesItsReason(t *testing.T) {
	var reason atomic.Value
	tel := start(t, telemetry.Options{Ready: func(ctx context.Context) error {
		if _, bounded := ctx.Deadline(); !bounded {
			return errors.New("no deadline")
		}
		if err, ok := reason.Load().(error); ok {
			return err
		}
		return nil
	}})
	if status, body := get(t, tel, "/readyz", ""); status != http.StatusOK || body != "ready\n" {
		t.Errorf("got %d %q", status, body)
	}
	reason.Store(errors.New("signal is not connected"))
	if status, body := get(t, tel, "/readyz", ""); status != http.StatusServiceUnavailable || body != "signal is not connected\n" {
		t.Errorf("got %d %q", status, body)
	}
	if status, body := get(t, tel, "/livez", ""); status != http.StatusOK || body != "alive\n" {
		t.Errorf("got %d %q", status, body)
	}
}

func TestProfilesAreServedOnlyBySwitch(t *testing.T) {
	for pprof, want := range map[bool]int{true: http.StatusOK, false: http.StatusNotFound} {
		tel := start(t, telemetry.Options{Pprof: pprof})
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline"} {
			if status, _ := get(t, tel, path, ""); status != want {
				t.Errorf("switch %v: %s answers %d", pprof, path, status)
			}
		}
	}
}

func TestServicesAddTheirRoutes(t *testing.T) {
	tel := start(t, telemetry.Options{Routes: func(mux *http.ServeMux) {
		mux.HandleFunc("GET /own", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "own") })
	}})
	if status, body := get(t, tel, "/own", ""); status != http.StatusOK || body != "own" {
		t.Errorf("got %d %q", status, body)
	}
}

func TestARequestUnderWayIsAnswered(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "botd", AdminAddr: "127.0.0.1:0", Routes: func(mux *http.ServeMux) {
		mux.HandleFunc("GET /slow", func(w http.ResponseWriter, _ *http.Request) {
			close(began)
			<-finish
			_, _ = io.WriteString(w, "done")
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served, answered := make(chan error, 1), make(chan string, 1)
	go func() { served <- tel.Serve(ctx) }()
	go func() {
		_, body := get(t, tel, "/slow", "")
		answered <- body
	}()
	<-began
	cancel()
	close(finish)
	if body := <-answered; body != "done" {
		t.Errorf("got %q", body)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAnAddressInUseIsAnError(t *testing.T) {
	tel := start(t, telemetry.Options{})
	_, err := telemetry.Start(t.Context(), telemetry.Options{Service: "botd", AdminAddr: tel.Addr()})
	if err == nil || !strings.Contains(err.Error(), tel.Addr()) {
		t.Errorf("got %v", err)
	}
}

func TestWithoutAnAdminServerServeWaits(t *testing.T) {
	tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "botd"})
	if err != nil {
		t.Fatal(err)
	}
	if tel.Addr() != "" {
		t.Errorf("listens on %s", tel.Addr())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tel.Serve(ctx); err != nil {
		t.Error(err)
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestShutdownEndsServe(t *testing.T) {
	tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "botd", AdminAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- tel.Serve(context.Background()) }()
	get(t, tel, "/livez", "") // it serves
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
