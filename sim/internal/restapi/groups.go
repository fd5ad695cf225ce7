package restapi

import (
	"net/http"
	"time"

	"quartet/sim/internal/signalnet"
)

type groupEntry struct {
	Name            string            `json:"name"`
	Description     string            `json:"description"`
	ID              string            `json:"id"`
	InternalID      string            `json:"internal_id"`
	Members         []any             `json:"members"`
	Blocked         bool              `json:"blocked"`
	Member          bool              `json:"member"`
	PendingInvites  []any             `json:"pending_invites"`
	PendingRequests []any             `json:"pending_requests"`
	InviteLink      string            `json:"invite_link"`
	Admins          []any             `json:"admins"`
	Permissions     map[string]string `json:"permissions"`
}

func (a *API) groupList(r *http.Request) ([]groupEntry, error) {
	began := time.Now()
	if err := a.net.Latency.Wait(r.Context(), signalnet.Groups, began); err != nil {
		return nil, err
	}
	a.hear(r.Context())
	a.net.Read("groups", "rest", "", began)
	number := r.PathValue("number")
	if !a.net.HasAccount(number) {
		return nil, signalnet.NoAccount()
	}
	expand := r.URL.Query().Get("expand") == "true"
	list := []groupEntry{}
	for _, g := range a.net.GroupList() {
		list = append(list, a.entry(g, expand))
	}
	return list, nil
}

// entry is what is told about a group; expand tells number and uuid of people.
func (a *API) entry(g signalnet.Group, expand bool) groupEntry {
	people := func(uuids []string, bot bool) []any {
		if bot {
			uuids = append([]string{signalnet.BotUUID}, uuids...)
		}
		list := make([]any, 0, len(uuids))
		for _, uuid := range uuids {
			number := a.net.NumberOf(uuid)
			switch {
			case expand:
				list = append(list, map[string]string{"number": number, "uuid": uuid})
			case number != "":
				list = append(list, number)
			default:
				list = append(list, uuid)
			}
		}
		return list
	}
	send := "every-member"
	if g.Announcement {
		send = "only-admins"
	}
	return groupEntry{
		Name: g.Name, Description: g.Description, ID: g.PublicID(), InternalID: g.ID, Member: !g.Left,
		Members: people(g.Members, !g.Left), Admins: people(g.Admins, g.BotAdmin && !g.Left),
		PendingInvites: []any{}, PendingRequests: []any{},
		// The real server fills edit_group from the permission to send, too.
		Permissions: map[string]string{"add_members": "every-member", "edit_group": send, "send_messages": send},
	}
}

func (a *API) groups(w http.ResponseWriter, r *http.Request) {
	list, err := a.groupList(r)
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, list)
}

func (a *API) group(w http.ResponseWriter, r *http.Request) {
	list, err := a.groupList(r)
	if err != nil {
		refuse(w, err)
		return
	}
	for _, g := range list {
		if g.ID == r.PathValue("group") {
			answer(w, http.StatusOK, g)
			return
		}
	}
	answer(w, http.StatusNotFound, map[string]string{"error": "No group with that id found"})
}
