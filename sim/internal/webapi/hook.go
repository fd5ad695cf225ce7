package webapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"

	"quartet/sim/internal/control"
)

// Request is a request as it is told back.
type Request struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Query   url.Values        `json:"query"`
	Headers map[string]string `json:"headers"`
	Body    any               `json:"body,omitempty"` // the JSON value, else the text
}

// Hook is what the hook was sent.
type Hook struct {
	Seq uint64    `json:"seq"`
	At  time.Time `json:"at"`
	Request
	bytes int
}

func (h Hook) size() int64 { return int64(h.bytes) + 1024 }

// seen describes a request with its body.
func seen(r *http.Request, body []byte) Request {
	q := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Headers: map[string]string{}}
	for name, values := range r.Header {
		q.Headers[name] = values[0]
	}
	if len(body) > 0 && json.Unmarshal(body, &q.Body) != nil {
		q.Body = string(body)
	}
	return q
}

// hook tells back what it is sent, by whatever method.
func (a *API) hook(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		control.Fail(w, http.StatusRequestEntityTooLarge, err)
		return
	}
	a.hooked.Add(1)
	request := seen(r, body)
	a.hooks.Add(func(seq uint64) Hook { return Hook{Seq: seq, At: at, Request: request, bytes: len(body)} })
	switch {
	case a.quirks.Take("hook_hang"):
		control.Hang(r)
	case a.quirks.Take("hook_fail"):
		control.Answer(w, http.StatusInternalServerError, map[string]string{"error": "internal error"})
	default:
		control.Answer(w, http.StatusOK, request)
	}
}
