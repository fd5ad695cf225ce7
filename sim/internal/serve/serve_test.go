package serve_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"quartet/sim/internal/serve"
)

func TestOtherMachinesAreKeptOutByDefault(t *testing.T) {
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:0"} {
		if _, err := serve.Listen(t.Context(), address, false); !errors.Is(err, serve.ErrNotLoopback) {
			t.Errorf("%s: %v", address, err)
		}
	}
	listener, err := serve.Listen(t.Context(), "0.0.0.0:0", true)
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
}

func TestAHangingRequestDoesNotHoldUpTheStop(t *testing.T) {
	listener, err := serve.Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	hanging := make(chan struct{})
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(hanging)
		<-r.Context().Done()
	})
	ended := make(chan error, 1)
	go func() {
		ended <- serve.Run(ctx, listener, serve.Options{Handler: handler, Log: slog.New(slog.DiscardHandler)})
	}()
	go func() {
		if answer, err := http.Get("http://" + listener.Addr().String()); err == nil {
			_ = answer.Body.Close()
		}
	}()
	<-hanging
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("still serving")
	}
}
