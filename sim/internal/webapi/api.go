// Package webapi is a few small services of the kind that people hang on a bot:
// JSON to read a value from, a hook that tells what it was sent, redirects, and
// pictures of a size.
//
// Guarantee: the same question gets the same answer; what a hook was sent is
// kept, bounded by count and bytes, and can be read under /_sim/hooks.
//
// It speaks for no real service.
//
// Files: api.go, weather.go, hook.go, redirect.go, quirks.go.
package webapi

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"quartet/sim/internal/cats"
	"quartet/sim/internal/control"
	"quartet/sim/internal/latency"
	"quartet/sim/internal/quirk"
	"quartet/sim/internal/ring"
)

// JSON is the operation that takes time, as named in the latency table.
const JSON = "json"

const (
	maxBody      = 1 << 20
	maxSized     = 8 << 20
	maxHooks     = 5_000
	maxHookBytes = 16 << 20
)

// API serves the surface. Make it with New.
type API struct {
	quirks                      *quirk.Set
	latency                     *latency.Table
	hooks                       *ring.Ring[Hook]
	asked, hooked, sized, moved atomic.Int64
}

// New makes the surface.
func New(quirks *quirk.Set, table *latency.Table) *API {
	return &API{quirks: quirks, latency: table, hooks: ring.New(maxHooks, maxHookBytes, Hook.size)}
}

// Mount adds the surface to mux.
func (a *API) Mount(mux *http.ServeMux) {
	mux.HandleFunc("GET /json/{what}", a.json)
	mux.HandleFunc("/hook", a.hook)
	mux.HandleFunc("GET /_sim/hooks", control.Follow("hooks", a.hooks.Since, a.hooks.Wait, nil))
	mux.HandleFunc("GET /picture/{file}", a.picture)
	a.mountRedirects(mux)
}

// Stats are what was counted since the last reset.
func (a *API) Stats() map[string]int64 {
	return map[string]int64{"json": a.asked.Load(), "hooks": a.hooked.Load(), "sized_pictures": a.sized.Load(), "redirects": a.moved.Load()}
}

// Reset forgets what hooks were sent, and counts anew.
func (a *API) Reset() {
	a.hooks.Clear()
	for _, c := range []*atomic.Int64{&a.asked, &a.hooked, &a.sized, &a.moved} {
		c.Store(0)
	}
}

// json is GET /json/weather and /json/echo.
func (a *API) json(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	a.asked.Add(1)
	if a.quirks.Take("json_hang") {
		control.Hang(r)
	}
	if a.latency.Wait(r.Context(), JSON, began) != nil {
		return
	}
	what := r.PathValue("what")
	switch {
	case a.quirks.Take("json_429"):
		control.Later(w, a.quirks)
		control.Answer(w, http.StatusTooManyRequests, map[string]string{"error": "slow down"})
	case a.quirks.Take("json_fail"):
		control.Answer(w, http.StatusInternalServerError, map[string]string{"error": "internal error"})
	case a.quirks.Take("json_malformed"):
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write([]byte(`{"location":{"name":"`))
	case a.quirks.Take("json_huge"):
		a.huge(w)
	case what == "weather":
		weather(w, r)
	case what == "echo":
		control.Answer(w, http.StatusOK, seen(r, nil))
	default:
		control.Answer(w, http.StatusNotFound, map[string]string{"error": "there are weather and echo"})
	}
}

// huge answers with one text of huge_bytes.
func (a *API) huge(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	part := []byte(strings.Repeat("x", 64<<10))
	_, _ = w.Write([]byte(`{"text":"`))
	for left := a.quirks.Number("huge_bytes"); left > 0; left -= int64(len(part)) {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
	_, _ = w.Write([]byte(`"}`))
}

// picture is GET /picture/BYTES.jpg.
func (a *API) picture(w http.ResponseWriter, r *http.Request) {
	number, jpeg := strings.CutSuffix(r.PathValue("file"), ".jpg")
	size, err := strconv.Atoi(number)
	if !jpeg || err != nil || size < cats.MinSized || size > maxSized {
		http.NotFound(w, r)
		return
	}
	p, err := cats.Sized(size)
	if err != nil {
		control.Fail(w, http.StatusInternalServerError, err)
		return
	}
	a.sized.Add(1)
	w.Header().Set("Content-Type", p.Type)
	w.Header().Set("Content-Length", strconv.Itoa(len(p.Bytes)))
	_, _ = w.Write(p.Bytes)
}
