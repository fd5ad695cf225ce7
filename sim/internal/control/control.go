// Package control is the part of /_sim/ that every simulator has: quirks and
// latencies read and set over HTTP; and what the simulators' answers share.
//
// Guarantee: a PUT is applied whole or not at all, and a refusal (400) names
// every fault in it. A browser page of another origin cannot steer a
// simulator: its requests that change something are refused with 403.
//
// It does not authenticate anybody: who reaches the port is trusted.
package control

import (
	"encoding/json"
	"fmt"
	"net/http"

	"quartet/sim/internal/latency"
	"quartet/sim/internal/quirk"
)

// maxBody bounds the body of one change, in bytes.
const maxBody = 1 << 20

// Mount adds GET and PUT of /_sim/quirks and /_sim/latency to mux.
func Mount(mux *http.ServeMux, quirks *quirk.Set, table *latency.Table) {
	mux.HandleFunc("GET /_sim/quirks", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("describe") != "" {
			Answer(w, http.StatusOK, quirks.Describe())
			return
		}
		Answer(w, http.StatusOK, quirks.Values())
	})
	mux.HandleFunc("PUT /_sim/quirks", func(w http.ResponseWriter, r *http.Request) {
		var changes map[string]json.RawMessage
		if !Read(w, r, maxBody, &changes) {
			return
		}
		if err := quirks.Merge(changes); err != nil {
			Fail(w, http.StatusBadRequest, err)
			return
		}
		Answer(w, http.StatusOK, quirks.Values())
	})
	mux.HandleFunc("GET /_sim/latency", func(w http.ResponseWriter, _ *http.Request) {
		Answer(w, http.StatusOK, table.Values())
	})
	mux.HandleFunc("PUT /_sim/latency", func(w http.ResponseWriter, r *http.Request) {
		var changes map[string]latency.Dist
		if !Read(w, r, maxBody, &changes) {
			return
		}
		if err := table.Merge(changes); err != nil {
			Fail(w, http.StatusBadRequest, err)
			return
		}
		Answer(w, http.StatusOK, table.Values())
	})
}

// SameOrigin refuses requests by which a page of another origin would change something.
func SameOrigin(next http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(next)
}

// Read decodes a body of at most limit bytes, or answers 400 and returns false.
func Read(w http.ResponseWriter, r *http.Request, limit int64, into any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit)).Decode(into); err != nil {
		Fail(w, http.StatusBadRequest, fmt.Errorf("read body: %w", err))
		return false
	}
	return true
}

// Answer writes v as JSON. What cannot be written any more is the client's loss.
func Answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// Fail answers with {"error": text}.
func Fail(w http.ResponseWriter, status int, err error) {
	Answer(w, status, map[string]string{"error": err.Error()})
}
