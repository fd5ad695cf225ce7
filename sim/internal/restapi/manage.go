package restapi

import (
	"encoding/base64"
	"net/http"
	"time"

	"quartet/sim/internal/qr"
	"quartet/sim/internal/signalnet"
)

// mountManage adds what changes the account, its groups and what it keeps.
func (a *API) mountManage(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/groups/{number}/{group}/quit", a.quit)
	mux.HandleFunc("GET /v1/identities/{number}", a.identities)
	mux.HandleFunc("PUT /v1/identities/{number}/trust/{who}", a.trust)
	mux.HandleFunc("PUT /v1/profiles/{number}", a.profile)
	mux.HandleFunc("POST /v1/accounts/{number}/rate-limit-challenge", a.challenge)
	mux.HandleFunc("GET /v1/attachments", a.attachments)
	mux.HandleFunc("GET /v1/attachments/{id}", a.attachment)
	mux.HandleFunc("DELETE /v1/attachments/{id}", a.deleteAttachment)
	mux.HandleFunc("GET /v1/qrcodelink", a.link(true))
	mux.HandleFunc("GET /v1/qrcodelink/raw", a.link(false))
}

// done answers a call that has nothing to tell.
func (a *API) done(w http.ResponseWriter, r *http.Request, f *signalnet.Failure) {
	a.hear(r.Context())
	if f != nil {
		refuse(w, f)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (a *API) quit(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	kind, group, err := kindOf(r.PathValue("group"))
	if err == nil && kind != toGroup {
		err = refusal("Invalid group id")
	}
	if err != nil {
		refuse(w, err)
		return
	}
	a.done(w, r, a.net.Quit(serverContext(r), at, "rest", r.PathValue("number"), group))
}

type identityEntry struct {
	Number       string `json:"number"`
	UUID         string `json:"uuid"`
	Status       string `json:"status"`
	Fingerprint  string `json:"fingerprint"`
	Added        string `json:"added"`
	SafetyNumber string `json:"safety_number"`
}

func (a *API) identities(w http.ResponseWriter, r *http.Request) {
	if !a.net.HasAccount(r.PathValue("number")) {
		refuse(w, signalnet.NoAccount())
		return
	}
	list := []identityEntry{}
	for _, i := range a.net.Identities() {
		e := identityEntry{Status: "TRUSTED_UNVERIFIED", SafetyNumber: signalnet.SafetyNumber(i.Who), Added: "0"}
		if i.Untrusted {
			e.Status = "UNTRUSTED"
		}
		if isNumber(i.Who) {
			e.Number = i.Who
		} else {
			e.UUID, e.Number = i.Who, a.net.NumberOf(i.Who)
		}
		list = append(list, e)
	}
	answer(w, http.StatusOK, list)
}

func (a *API) trust(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	var req struct {
		Safety *string `json:"verified_safety_number"`
		All    *bool   `json:"trust_all_known_keys"`
	}
	switch {
	case !a.decode(w, r, &req):
	case req.Safety == nil && !value(req.All):
		refuseText(w, "Couldn't process request - either 'verified_safety_number' or 'trust_all_known_keys' needs to be set")
	case req.Safety != nil && req.All != nil:
		refuseText(w, "Couldn't process request - 'verified_safety_number' and 'trust_all_known_keys' cannot be set at the same time")
	case req.Safety != nil && *req.Safety == "":
		refuseText(w, "Couldn't process request - verified safety number missing")
	default:
		a.done(w, r, a.net.Trust(serverContext(r), at, "rest", r.PathValue("number"), r.PathValue("who"), value(req.Safety)))
	}
}

func (a *API) profile(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	var req struct {
		Name   string  `json:"name"`
		About  *string `json:"about"`
		Avatar string  `json:"base64_avatar"`
	}
	if !a.decode(w, r, &req) {
		return
	}
	if req.Name == "" {
		refuseText(w, "Couldn't process request - profile name missing")
		return
	}
	avatar, err := base64.StdEncoding.DecodeString(req.Avatar)
	if err != nil {
		refuse(w, err)
		return
	}
	p := signalnet.Profile{Name: req.Name, About: value(req.About), Avatar: len(avatar)}
	a.done(w, r, a.net.SetProfile(serverContext(r), at, "rest", r.PathValue("number"), p))
}

func (a *API) challenge(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	var req struct {
		Token   string `json:"challenge_token"`
		Captcha string `json:"captcha"`
	}
	switch {
	case !a.decode(w, r, &req):
	case req.Token == "":
		refuseText(w, "Couldn't process request - challenge token missing")
	case req.Captcha == "":
		refuseText(w, "Couldn't process request - captcha missing")
	default:
		a.done(w, r, a.net.Challenge(serverContext(r), at, "rest", r.PathValue("number"), req.Token, req.Captcha))
	}
}

func (a *API) attachments(w http.ResponseWriter, _ *http.Request) {
	began := time.Now()
	list := a.net.StoredFiles()
	a.net.Read("attachments", "rest", "", began)
	answer(w, http.StatusOK, list)
}

func (a *API) attachment(w http.ResponseWriter, r *http.Request) {
	kind, content, ok := a.net.File("rest", r.PathValue("id"), time.Now())
	if !ok {
		noAttachment(w)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(content)
}

func (a *API) deleteAttachment(w http.ResponseWriter, r *http.Request) {
	if !a.net.DeleteFile("rest", r.PathValue("id"), time.Now()) {
		noAttachment(w)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func noAttachment(w http.ResponseWriter) {
	answer(w, http.StatusNotFound, map[string]string{"error": "No attachment with that id found"})
}

// link is GET of /v1/qrcodelink, which shows a picture of the code, and of
// /v1/qrcodelink/raw, which tells it. The server waits for the scan by itself.
func (a *API) link(picture bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		device := r.URL.Query().Get("device_name")
		if device == "" {
			refuseText(w, "Please provide a name for the device.")
			return
		}
		uri, f := a.net.StartLink(at, "rest", device)
		if f != nil {
			refuse(w, f)
			return
		}
		if !picture {
			answer(w, http.StatusOK, map[string]string{"device_link_uri": uri})
			return
		}
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(qr.PNG(uri))
	}
}
