// Command otlpsink stands in for Jaeger where its image cannot be pulled: it
// takes traces by OTLP over HTTP, keeps none, and tells how many came and what
// names were in them. It reads no protobuf: a name is found in the bytes.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// maxBody bounds one export.
const maxBody = 16 << 20

// names are those that somebody may ask about.
var names = []string{"botd", "quartet.timing.queue", "quartet.timing.send"}

// sink counts. Its zero value is ready.
type sink struct {
	mu      sync.Mutex
	exports int             // guarded by mu
	found   map[string]bool // guarded by mu
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &sink{found: map[string]bool{}}
	take, tell := http.NewServeMux(), http.NewServeMux()
	take.HandleFunc("POST /v1/traces", s.take)
	tell.HandleFunc("GET /exports", s.tell)
	failed := make(chan error, 2)
	servers := []*http.Server{
		{Addr: ":4318", Handler: take, ReadHeaderTimeout: 10 * time.Second},
		{Addr: ":16686", Handler: tell, ReadHeaderTimeout: 10 * time.Second},
	}
	for _, server := range servers {
		go func() { failed <- server.ListenAndServe() }()
	}
	select {
	case <-ctx.Done():
	case err := <-failed:
		fmt.Fprintln(os.Stderr, "otlpsink:", err)
		os.Exit(1)
	}
	for _, server := range servers {
		_ = server.Close()
	}
}

func (s *sink) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, err.Error(), status)
		return
	}
	s.mu.Lock()
	s.exports++
	for _, name := range names {
		s.found[name] = s.found[name] || bytes.Contains(body, []byte(name))
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-protobuf") // and an empty answer: all was taken
}

func (s *sink) tell(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"exports": s.exports, "found": s.found})
}
