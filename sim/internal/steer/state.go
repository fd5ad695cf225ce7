package steer

import (
	"net/http"

	"quartet/sim/internal/control"
	"quartet/sim/internal/signalnet"
)

const maxState = 4 << 20 // bytes of one body of groups or people

func (p Panel) mountState(mux *http.ServeMux) {
	mux.HandleFunc("GET /_sim/groups", p.listGroups)
	mux.HandleFunc("POST /_sim/groups", p.putGroups)
	mux.HandleFunc("GET /_sim/identities", p.listIdentities)
	mux.HandleFunc("POST /_sim/identities", p.distrust)
	mux.HandleFunc("GET /_sim/attachments", func(w http.ResponseWriter, _ *http.Request) {
		ids := p.Net.StoredFiles()
		control.Answer(w, http.StatusOK, map[string]any{"stored": len(ids), "ids": ids})
	})
}

// groupState is a group with both ids.
type groupState struct {
	signalnet.Group
	PublicID string `json:"id"`
}

func (p Panel) groups() []groupState {
	list := []groupState{}
	for _, g := range p.Net.GroupList() {
		g.Members, g.Admins = append([]string{}, g.Members...), append([]string{}, g.Admins...)
		list = append(list, groupState{g, g.PublicID()})
	}
	return list
}

func (p Panel) info(w http.ResponseWriter, _ *http.Request) {
	control.Answer(w, http.StatusOK, map[string]any{
		"number": p.Net.Number, "uuid": signalnet.BotUUID, "profile": p.Net.Profile(), "groups": p.groups(), "receive_mode": p.Net.Mode,
	})
}

func (p Panel) listGroups(w http.ResponseWriter, _ *http.Request) {
	control.Answer(w, http.StatusOK, p.groups())
}

func (p Panel) putGroups(w http.ResponseWriter, r *http.Request) {
	var groups []signalnet.Group
	if !control.Read(w, r, maxState, &groups) {
		return
	}
	if err := p.Net.PutGroups(groups); err != nil {
		control.Fail(w, http.StatusBadRequest, err)
		return
	}
	p.listGroups(w, r)
}

func (p Panel) listIdentities(w http.ResponseWriter, _ *http.Request) {
	control.Answer(w, http.StatusOK, map[string]any{"identities": p.Net.Identities()})
}

func (p Panel) distrust(w http.ResponseWriter, r *http.Request) {
	var change struct {
		Untrusted []string `json:"untrusted"`
	}
	if !control.Read(w, r, maxState, &change) {
		return
	}
	if err := p.Net.Distrust(change.Untrusted); err != nil {
		control.Fail(w, http.StatusBadRequest, err)
		return
	}
	p.listIdentities(w, r)
}
