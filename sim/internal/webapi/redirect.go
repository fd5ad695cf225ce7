package webapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

func (a *API) mountRedirects(mux *http.ServeMux) {
	mux.HandleFunc("GET /redirect/within", func(w http.ResponseWriter, r *http.Request) { a.move(w, r, within(r)) })
	mux.HandleFunc("GET /redirect/away", func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.Query().Get("to")
		if to == "" {
			to = a.quirks.Text("private_address")
		}
		a.move(w, r, to)
	})
	mux.HandleFunc("GET /redirect/loop", func(w http.ResponseWriter, r *http.Request) {
		a.move(w, r, "/redirect/loop")
	})
	mux.HandleFunc("GET /redirect/chain/{left}", a.chain)
}

// within is the address on this host that a request names; whatever else it
// names is not left for.
func within(r *http.Request) string {
	to := r.URL.Query().Get("to")
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") {
		return "/json/echo"
	}
	return to
}

// chain redirects as many times as are left, and then to where it is asked to.
func (a *API) chain(w http.ResponseWriter, r *http.Request) {
	left, err := strconv.Atoi(r.PathValue("left"))
	if err != nil || left < 1 || left > 100 {
		http.NotFound(w, r)
		return
	}
	to := within(r)
	if left > 1 {
		to = "/redirect/chain/" + strconv.Itoa(left-1) + "?to=" + url.QueryEscape(to)
	}
	a.move(w, r, to)
}

func (a *API) move(w http.ResponseWriter, r *http.Request, to string) {
	a.moved.Add(1)
	http.Redirect(w, r, to, http.StatusFound)
}
