// Package restapi is the surface of signal-cli-rest-api (MODE=json-rpc) that a
// bot needs: health, about, accounts, groups, the receiving websocket, sends,
// typing indicators, reactions, receipts and deletions, received attachments,
// identities, the profile, the link of a device and the rate limit's challenge,
// with the status codes, bodies and content types of the real server.
//
// Guarantee: a request that the real server refuses is refused with the same
// status and text, where its source spells the text; texts that come from
// signal-cli contain the words they are known for.
//
// With a webhook, each frame is posted there as well, and no answer of
// signal-cli is heard while a post is open: see webhook.go.
//
// It has no contacts, polls or registration.
package restapi

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"quartet/sim/internal/signalnet"
)

// maxBody bounds a request's body, in bytes; the real server has no limit.
const maxBody = 32 << 20

// API serves the surface. Make it with New.
type API struct {
	net       *signalnet.Network
	writeLock lock          // shared by all websockets while shared_write_lock is on
	bodies    chan struct{} // one slot a body that is being read and decoded
	ear       lock          // has it who reads what signal-cli says; held while a post is open
	sockets   sockets
	clients   atomic.Int64
}

// New makes the surface of a network.
func New(n *signalnet.Network) *API {
	return &API{net: n, writeLock: newLock(), ear: newLock(), bodies: make(chan struct{}, 16)}
}

// Clients returns how many websockets are open.
func (a *API) Clients() int64 { return a.clients.Load() }

// Mount adds the surface to mux.
func (a *API) Mount(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /v1/about", a.about)
	mux.HandleFunc("GET /v1/accounts", a.accounts)
	mux.HandleFunc("GET /v1/receive/{number}", a.receive)
	mux.HandleFunc("POST /v2/send", a.send)
	mux.HandleFunc("PUT /v1/typing-indicator/{number}", a.typing("typing"))
	mux.HandleFunc("DELETE /v1/typing-indicator/{number}", a.typing("stopped"))
	mux.HandleFunc("POST /v1/reactions/{number}", a.reaction("reaction"))
	mux.HandleFunc("DELETE /v1/reactions/{number}", a.reaction("unreaction"))
	mux.HandleFunc("POST /v1/receipts/{number}", a.receipt)
	mux.HandleFunc("DELETE /v1/remote-delete/{number}", a.remoteDelete)
	a.mountManage(mux)
	mux.HandleFunc("GET /v1/groups/{number}", a.groups)
	mux.HandleFunc("GET /v1/groups/{number}/{group}", a.group)
}

func (a *API) about(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"versions": []string{"v1", "v2"}, "build": 2, "mode": a.net.Quirks.Text("about_mode"), "version": "0.100",
		"capabilities": map[string][]string{"v2/send": {"quotes", "mentions"}},
	})
}

func (a *API) accounts(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if a.net.Latency.Wait(r.Context(), signalnet.Accounts, began) != nil {
		return
	}
	a.hear(r.Context())
	a.net.Read("accounts", "rest", "", began)
	numbers := []string{}
	if a.net.HasAccount(a.net.Number) {
		numbers = append(numbers, a.net.Number)
	}
	answer(w, http.StatusOK, numbers)
}

// answer writes JSON as the real server does: without a line end.
func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// refuse answers 400 with an error's text, whatever the reason: as the real server does.
func refuse(w http.ResponseWriter, err error) {
	text := err.Error()
	if f, ok := err.(*signalnet.Failure); ok {
		text = f.Text
	}
	refuseText(w, text)
}

func refuseText(w http.ResponseWriter, text string) {
	answer(w, http.StatusBadRequest, map[string]string{"error": text})
}

// decode reads a JSON body, or answers 400 and returns false.
func (a *API) decode(w http.ResponseWriter, r *http.Request, into any) bool {
	a.bodies <- struct{}{}
	defer func() { <-a.bodies }()
	if json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(into) == nil {
		return true
	}
	const body = `{"error":"Couldn't process request - invalid request"}`
	kind := "application/json; charset=utf-8"
	if a.net.Quirks.On("text_plain_errors") {
		kind = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write([]byte(body))
	return false
}
