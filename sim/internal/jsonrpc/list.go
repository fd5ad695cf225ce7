package jsonrpc

import (
	"context"
	"slices"
	"strings"
	"time"

	"quartet/sim/internal/signalnet"
)

func (c *conn) listAccounts(ctx context.Context, at time.Time) (any, *rpcError) {
	n := c.server.net
	if n.Latency.Wait(ctx, signalnet.Accounts, at) != nil {
		return nil, nil
	}
	n.Read("accounts", "rpc", "", at)
	list := []map[string]string{}
	if n.HasAccount(n.Number) {
		list = append(list, map[string]string{"number": n.Number})
	}
	return list, nil
}

// person is somebody in a list of groups.
type person struct {
	Number  *string `json:"number"`
	UUID    string  `json:"uuid"`
	IsAdmin *bool   `json:"isAdmin,omitempty"`
}

func (c *conn) person(uuid string) person {
	p := person{UUID: uuid}
	if number := c.server.net.NumberOf(uuid); number != "" {
		p.Number = &number
	}
	return p
}

func (c *conn) listGroups(ctx context.Context, at time.Time, _ string, p params) (any, *rpcError) {
	n := c.server.net
	if n.Latency.Wait(ctx, signalnet.Groups, at) != nil {
		return nil, nil
	}
	n.Read("groups", "rpc", "", at)
	asked := p.list("groupId")
	list := []map[string]any{}
	for _, g := range n.GroupList() {
		if len(asked) == 0 || slices.Contains(asked, g.ID) {
			list = append(list, c.group(g))
		}
	}
	return list, nil
}

func (c *conn) group(g signalnet.Group) map[string]any {
	uuids, chiefs := g.Members, g.Admins
	if !g.Left {
		uuids = append([]string{signalnet.BotUUID}, uuids...)
		if g.BotAdmin {
			chiefs = append([]string{signalnet.BotUUID}, chiefs...)
		}
	}
	members, admins := []person{}, []person{}
	for _, uuid := range uuids {
		p, chief := c.person(uuid), slices.Contains(chiefs, uuid)
		p.IsAdmin = &chief
		members = append(members, p)
	}
	for _, uuid := range chiefs {
		admins = append(admins, c.person(uuid))
	}
	send := "EVERY_MEMBER"
	if g.Announcement {
		send = "ONLY_ADMINS"
	}
	return map[string]any{
		"id": g.ID, "name": g.Name, "description": g.Description, "isMember": !g.Left, "isBlocked": false, "messageExpirationTime": 0,
		"members": members, "pendingMembers": []any{}, "requestingMembers": []any{}, "admins": admins, "banned": []any{},
		"permissionAddMember": "EVERY_MEMBER", "permissionEditDetails": "EVERY_MEMBER", "permissionSendMessage": send, "groupInviteLink": nil,
	}
}

func (c *conn) listIdentities(_ context.Context, _ time.Time, _ string, _ params) (any, *rpcError) {
	list := []map[string]any{}
	for _, i := range c.server.net.Identities() {
		e := map[string]any{"number": nil, "uuid": nil, "trustLevel": "TRUSTED_UNVERIFIED", "safetyNumber": signalnet.SafetyNumber(i.Who), "fingerprint": "", "addedTimestamp": 0}
		if i.Untrusted {
			e["trustLevel"] = "UNTRUSTED"
		}
		if strings.HasPrefix(i.Who, "+") {
			e["number"] = i.Who
		} else {
			e["uuid"] = i.Who
		}
		list = append(list, e)
	}
	return list, nil
}
