package groupchat

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"quartet/sim/internal/signalnet"
)

//go:embed page/index.html page/chat.css page/chat.js
var page embed.FS

const (
	maxReaders = 64 // event streams at the same time; further ones get 503
	heartbeat  = 15 * time.Second
)

// Mount adds the page, its events and the pictures to mux.
func (c *Chat) Mount(mux *http.ServeMux, net *signalnet.Network) {
	for path, file := range map[string]string{"/{$}": "index.html", "/chat.css": "chat.css", "/chat.js": "chat.js"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'")
			w.Header().Set("Cache-Control", "no-cache")
			http.ServeFileFS(w, r, page, "page/"+file)
		})
	}
	readers := make(chan struct{}, maxReaders)
	mux.HandleFunc("GET /_sim/events", func(w http.ResponseWriter, r *http.Request) {
		select {
		case readers <- struct{}{}:
			defer func() { <-readers }()
			c.stream(w, r)
		default:
			http.Error(w, "too many readers", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /_sim/pictures/{number}", func(w http.ResponseWriter, r *http.Request) {
		number, err := strconv.ParseUint(r.PathValue("number"), 10, 64)
		p, ok := net.Picture(number)
		if err != nil || !ok || !strings.HasPrefix(p.ContentType, "image/") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", p.ContentType)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "private, max-age=3600, immutable")
		_, _ = w.Write(p.Bytes)
	})
}

// stream writes events as they come, from the one after Last-Event-ID on. A
// page that was left open while the simulator was started anew is told to begin
// anew as well.
func (c *Chat) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	_, _ = fmt.Fprint(w, "retry: 1000\n\n")
	life, number, resumes := strings.Cut(r.Header.Get("Last-Event-ID"), "-")
	after, _ := strconv.ParseUint(number, 10, 64)
	if resumes && life != c.life {
		after = 0
		_, _ = fmt.Fprint(w, "event: restart\ndata: {}\n\n")
	}
	for {
		events, next := c.events.Since(after, 0)
		for _, e := range events {
			body, err := json.Marshal(e)
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(w, "id: %s-%d\ndata: %s\n\n", c.life, e.ID, body)
		}
		after = next
		if len(events) == 0 {
			_, _ = fmt.Fprint(w, ": still here\n\n")
		}
		if control.Flush() != nil {
			return
		}
		if !c.await(r.Context(), after) {
			return
		}
	}
}

// await returns when there are events, or nothing came for a heartbeat; false when ctx ended.
func (c *Chat) await(ctx context.Context, after uint64) bool {
	limit, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	_ = c.events.Wait(limit, after)
	return ctx.Err() == nil
}
