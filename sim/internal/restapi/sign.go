package restapi

import (
	"net/http"
	"strconv"
	"time"

	"quartet/sim/internal/signalnet"
)

// typing is PUT and DELETE of /v1/typing-indicator/{number}.
func (a *API) typing(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		var req struct {
			Recipient string `json:"recipient"`
		}
		if !a.decode(w, r, &req) {
			return
		}
		a.show(w, r, at, req.Recipient, signalnet.Sign{Kind: kind})
	}
}

// reaction is POST and DELETE of /v1/reactions/{number}.
func (a *API) reaction(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		var req struct {
			Recipient    string `json:"recipient"`
			Reaction     string `json:"reaction"`
			TargetAuthor string `json:"target_author"`
			Timestamp    int64  `json:"timestamp"`
		}
		if !a.decode(w, r, &req) {
			return
		}
		missing := ""
		switch {
		case req.Recipient == "":
			missing = "recipient"
		case req.Reaction == "" && kind == "reaction":
			missing = "reaction"
		case req.TargetAuthor == "":
			missing = "target_author"
		case req.Timestamp == 0:
			missing = "timestamp"
		}
		if missing != "" {
			refuseText(w, "Couldn't process request - "+missing+" missing")
			return
		}
		a.show(w, r, at, req.Recipient, signalnet.Sign{Kind: kind, Emoji: req.Reaction, TargetAuthor: req.TargetAuthor, Timestamp: req.Timestamp})
	}
}

func (a *API) show(w http.ResponseWriter, r *http.Request, at time.Time, recipient string, s signalnet.Sign) {
	kind, group, err := kindOf(recipient)
	if err == nil && kind == toUsername {
		_, err = groupsOf([]string{recipient})
	}
	if err != nil {
		refuse(w, err)
		return
	}
	s.Via = "rest"
	if group != "" {
		s.Groups = []string{group}
	} else {
		s.Recipient = recipient
	}
	out := a.net.Show(serverContext(r), at, r.PathValue("number"), s)
	a.hear(r.Context())
	switch {
	case out.Failure != nil:
		refuse(w, out.Failure)
	case s.Kind == "remote_delete":
		answer(w, http.StatusCreated, map[string]string{"timestamp": strconv.FormatInt(out.Timestamp, 10)})
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// receipt is POST of /v1/receipts/{number}.
func (a *API) receipt(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	var req struct {
		Recipient string `json:"recipient"`
		Type      string `json:"receipt_type"`
		Timestamp int64  `json:"timestamp"`
	}
	switch {
	case !a.decode(w, r, &req):
	case req.Recipient == "":
		refuseText(w, "Couldn't process request - recipient missing")
	case req.Type != "read" && req.Type != "viewed":
		refuseText(w, "Couldn't process request - receipt type must be read or viewed")
	case req.Timestamp == 0:
		refuseText(w, "Couldn't process request - timestamp missing")
	default:
		a.show(w, r, at, req.Recipient, signalnet.Sign{Kind: "receipt", TargetAuthor: req.Recipient, Timestamp: req.Timestamp})
	}
}

// remoteDelete is DELETE of /v1/remote-delete/{number}.
func (a *API) remoteDelete(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	var req struct {
		Recipient string `json:"recipient"`
		Timestamp int64  `json:"timestamp"`
	}
	switch {
	case !a.decode(w, r, &req):
	case req.Recipient == "":
		refuseText(w, "Couldn't process request - recipient missing")
	case req.Timestamp == 0:
		refuseText(w, "Couldn't process request - timestamp missing")
	default:
		a.show(w, r, at, req.Recipient, signalnet.Sign{Kind: "remote_delete", Timestamp: req.Timestamp})
	}
}
