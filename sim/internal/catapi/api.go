// Package catapi is the part of TheCatAPI that a bot needs: the search for
// pictures at /v1/images/search, and the pictures themselves.
//
// Guarantee: a picture is answered with exactly the type and size that the
// search told, unless a quirk is to spoil it. The time it takes to draw a
// picture is within its latency, not on top.
//
// It has no breeds, favourites, votes or uploads, and no picture is a GIF.
package catapi

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quartet/sim/internal/cats"
	"quartet/sim/internal/control"
	"quartet/sim/internal/latency"
	"quartet/sim/internal/quirk"
)

// Operations that take time, as named in the latency table.
const (
	Search = "search"
	Image  = "picture"
)

// Options configure an API. All but APIKey and PublicURL are required.
type Options struct {
	Album     *cats.Album
	Distinct  int    // how many different pictures there are
	APIKey    string // a key that differs is refused; empty = every key is taken
	PublicURL string // base of picture URLs; empty = where the search was asked
	Seed      uint64
	Quirks    *quirk.Set
	Latency   *latency.Table
}

// API serves the surface. Make it with New.
type API struct {
	o     Options
	count counters

	mu     sync.Mutex
	random *rand.Rand // guarded by mu
}

type counters struct {
	Searches, Pictures, Bytes, Connections, Closed, Active atomic.Int64
}

// New makes the surface.
func New(o Options) *API { return &API{o: o, random: rand.New(rand.NewPCG(o.Seed, 3))} }

// Mount adds the surface to mux.
func (a *API) Mount(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/images/search", a.search)
	mux.HandleFunc("GET /images/{file}", a.picture)
}

// Stats are what was counted since the last reset, and what is active now.
func (a *API) Stats() map[string]int64 {
	return map[string]int64{
		"searches": a.count.Searches.Load(), "pictures": a.count.Pictures.Load(), "picture_bytes": a.count.Bytes.Load(),
		"connections_opened": a.count.Connections.Load(), "connections_closed_idle": a.count.Closed.Load(), "requests_active": a.count.Active.Load(),
	}
}

// Reset counts anew.
func (a *API) Reset() {
	for _, c := range []*atomic.Int64{&a.count.Searches, &a.count.Pictures, &a.count.Bytes, &a.count.Connections, &a.count.Closed} {
		c.Store(0)
	}
}

// ConnState counts connections, and closes idle ones where the quirk says so.
func (a *API) ConnState(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		a.count.Connections.Add(1)
	case http.StateIdle:
		if a.o.Quirks.On("close_idle") {
			a.count.Closed.Add(1)
			_ = conn.Close()
		}
	}
}

type entry struct {
	ID     string `json:"id"`
	URL    string `json:"url"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Type   string `json:"mime_type"`
}

// search is GET /v1/images/search.
func (a *API) search(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	a.count.Searches.Add(1)
	a.count.Active.Add(1)
	defer a.count.Active.Add(-1)
	quirks := a.o.Quirks
	if quirks.Take("search_hang") {
		control.Hang(r)
	}
	if a.o.Latency.Wait(r.Context(), Search, began) != nil {
		return
	}
	key := r.Header.Get("x-api-key")
	switch {
	case !a.admits(key):
		control.Answer(w, http.StatusUnauthorized, map[string]any{"message": "AUTHENTICATION_ERROR - you need to send your API Key as the 'x-api-key' header", "status": 401})
	case quirks.Take("search_429"):
		a.tooMany(w)
	case quirks.Take("search_fail"):
		control.Answer(w, http.StatusInternalServerError, map[string]any{"message": "Internal Server Error", "status": 500})
	case quirks.Take("search_malformed"):
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write([]byte(`[{"id":"broken","url":"http`))
	case quirks.Take("search_empty"):
		control.Answer(w, http.StatusOK, []entry{})
	default:
		a.found(w, r, key != "")
	}
}

func (a *API) admits(key string) bool {
	if a.o.Quirks.On("need_key") {
		return key != "" && key == a.o.APIKey
	}
	return key == "" || a.o.APIKey == "" || key == a.o.APIKey
}

func (a *API) tooMany(w http.ResponseWriter) {
	control.Later(w, a.o.Quirks)
	control.Answer(w, http.StatusTooManyRequests, map[string]any{"message": "TOO_MANY_REQUESTS - rate limit exceeded", "status": 429})
}

func (a *API) found(w http.ResponseWriter, r *http.Request, keyed bool) {
	query := r.URL.Query()
	limit := limitOf(query.Get("limit"), keyed)
	list := make([]entry, 0, limit)
	base := a.o.PublicURL
	if base == "" {
		base = "http://" + r.Host
	}
	for _, info := range a.choose(limit, query.Get("mime_types")) {
		e := entry{info.ID, fmt.Sprintf("%s/images/%s.%s", base, info.ID, info.Extension), info.Width, info.Height, info.Type}
		if a.o.Quirks.Take("search_private") {
			e.URL = a.o.Quirks.Text("private_address")
		}
		list = append(list, e)
	}
	w.Header().Set("Pagination-Count", strconv.Itoa(a.o.Distinct))
	w.Header().Set("Pagination-Page", "0")
	w.Header().Set("Pagination-Limit", strconv.Itoa(limit))
	control.Answer(w, http.StatusOK, list)
}

// limitOf is how many pictures are told: without a key one, or always ten when more are asked for.
func limitOf(text string, keyed bool) int {
	limit, err := strconv.Atoi(text)
	switch {
	case err != nil || limit <= 1:
		return 1
	case !keyed:
		return 10
	default:
		return min(limit, 100)
	}
}

// choose draws different pictures of the types asked for ("jpg,png"; empty = all).
func (a *API) choose(limit int, types string) []cats.Info {
	a.mu.Lock()
	order := a.random.Perm(a.o.Distinct)
	a.mu.Unlock()
	var chosen []cats.Info
	for _, i := range order {
		info := a.o.Album.Info(fmt.Sprintf("kot%d", i))
		if types != "" && !strings.Contains(","+types+",", ","+info.Extension+",") {
			continue
		}
		if chosen = append(chosen, info); len(chosen) == limit {
			break
		}
	}
	return chosen
}
