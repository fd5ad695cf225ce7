// Package commons is the part of Wikimedia Commons that a bot needs: searches
// for pictures by the action API at /w/api.php, and the thumbnails that these
// name.
//
// Guarantee: a thumbnail is a picture of the size that the search told, unless
// a quirk is to spoil it. As at the real wiki, one page in eight has no
// imageinfo, errors come with status 200, and programs that do not say who they
// are get a 403.
//
// It finds the same drawings for whatever is searched, knows no other generator
// or property, no older format, no continuation, and answers for 960 pixels.
package commons

import (
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quartet/sim/internal/cats"
	"quartet/sim/internal/control"
	"quartet/sim/internal/latency"
	"quartet/sim/internal/quirk"
)

// Search is the operation that takes time, as named in the latency table.
const Search = "commons"

// Options configure an API. All but the two URLs are required.
type Options struct {
	Album     *cats.Album
	Distinct  int // how many different pictures there are
	Seed      uint64
	Quirks    *quirk.Set
	Latency   *latency.Table
	PublicURL string // base of the pages' URLs; empty = where the search was asked
	UploadURL string // base of the thumbnails' URLs; empty = PublicURL

	// Picture answers with the picture of an id, if its file name extension is that.
	Picture func(w http.ResponseWriter, r *http.Request, id, extension string)
}

// API serves the surface. Make it with New.
type API struct {
	o                               Options
	searches, refused, active, peak atomic.Int64

	mu     sync.Mutex
	random *rand.Rand // guarded by mu
}

// New makes the surface.
func New(o Options) *API { return &API{o: o, random: rand.New(rand.NewPCG(o.Seed, 5))} }

// Mount adds the surface to mux.
func (a *API) Mount(mux *http.ServeMux) {
	mux.HandleFunc("GET /w/api.php", a.serve)
	mux.HandleFunc("GET /wikipedia/commons/thumb/{a}/{b}/{file}/{thumb}", a.thumb)
}

// Stats are what was counted since the last reset. commons_at_once is the most
// requests that there were at a time: whoever asks in series leaves it at 1.
func (a *API) Stats() map[string]int64 {
	return map[string]int64{
		"commons_searches": a.searches.Load(), "commons_unnamed": a.refused.Load(), "commons_at_once": a.peak.Load(),
	}
}

// Reset counts anew.
func (a *API) Reset() {
	for _, c := range []*atomic.Int64{&a.searches, &a.refused, &a.peak} {
		c.Store(0)
	}
}

// named refuses programs that do not say who they are.
func (a *API) named(w http.ResponseWriter, r *http.Request) bool {
	if agent := r.UserAgent(); agent != "" && !strings.HasPrefix(agent, "Go-http-client/") {
		return true
	}
	a.refused.Add(1)
	http.Error(w, "Please set a user-agent and respect our robot policy https://w.wiki/4wJS", http.StatusForbidden)
	return false
}

// serve is GET /w/api.php.
func (a *API) serve(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if !a.named(w, r) {
		return
	}
	a.searches.Add(1)
	a.atOnce(a.active.Add(1))
	defer a.active.Add(-1)
	quirks, query := a.o.Quirks, r.URL.Query()
	if quirks.Take("commons_hang") {
		control.Hang(r)
	}
	if a.o.Latency.Wait(r.Context(), Search, began) != nil {
		return
	}
	switch {
	case quirks.Take("commons_429"):
		control.Later(w, a.o.Quirks)
		http.Error(w, "Too Many Requests", http.StatusTooManyRequests)
	case quirks.Take("commons_fail"):
		http.Error(w, "upstream connect error", http.StatusServiceUnavailable)
	case query.Has("maxlag") && quirks.Take("commons_maxlag"):
		control.Later(w, a.o.Quirks)
		w.Header().Set("X-Database-Lag", "7")
		fail(w, map[string]any{"code": "maxlag", "info": "Waiting for db1: 7.2 seconds lagged.", "host": "db1", "lag": 7.2, "type": "db"})
	case quirks.Take("commons_error"):
		fail(w, map[string]any{"code": quirks.Text("commons_error_code"), "info": "Caught exception of type simulated"})
	case quirks.Take("commons_malformed"):
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write([]byte(`{"batchcomplete":true,"query":{"pages":[{"pageid":1,"ti`))
	case query.Get("action") != "query" || query.Get("format") != "json" || query.Get("formatversion") != "2" ||
		query.Get("generator") != "search" || query.Get("gsrnamespace") != "6" || query.Get("prop") != "imageinfo":
		fail(w, map[string]any{"code": "unknown_query", "info": "The simulator knows action=query, format=json, formatversion=2, generator=search, gsrnamespace=6 and prop=imageinfo only."})
	case len(query.Get("gsrsearch")) > 300:
		fail(w, map[string]any{"code": "cirrussearch-query-too-long", "info": "Search request is longer than the maximum allowed length."})
	case strings.TrimSpace(query.Get("gsrsearch")) == "":
		fail(w, map[string]any{"code": "missingparam", "info": "The \"gsrsearch\" parameter must be set."})
	case quirks.Take("commons_empty"):
		control.Answer(w, http.StatusOK, map[string]any{"batchcomplete": true})
	default:
		a.found(w, r)
	}
}

// atOnce keeps the greatest number of requests at a time.
func (a *API) atOnce(n int64) {
	for {
		peak := a.peak.Load()
		if n <= peak || a.peak.CompareAndSwap(peak, n) {
			return
		}
	}
}

// fail answers with an error, whose status is 200.
func fail(w http.ResponseWriter, what map[string]any) {
	w.Header().Set("Mediawiki-Api-Error", what["code"].(string))
	control.Answer(w, http.StatusOK, map[string]any{"error": what, "docref": "See https://commons.wikimedia.org/w/api.php for API usage."})
}

var fileName = regexp.MustCompile(`^Drawing_([A-Za-z0-9]{1,24})\.(jpg|png)$`)

// thumb is the GET of a thumbnail.
func (a *API) thumb(w http.ResponseWriter, r *http.Request) {
	file := r.PathValue("file")
	name := fileName.FindStringSubmatch(file)
	switch {
	case !a.named(w, r):
	case name == nil || r.PathValue("thumb") != "960px-"+file:
		http.NotFound(w, r)
	default:
		a.o.Picture(w, r, name[1], name[2])
	}
}
