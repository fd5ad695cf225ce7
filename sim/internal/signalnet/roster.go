package signalnet

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// BotUUID is the uuid of the bot's account.
const BotUUID = "b07b07b0-0000-4000-8000-000000000001"

// Group is a Signal group. Its members' list does not name the bot, which is in
// it unless it left.
type Group struct {
	ID           string   `json:"internal_id"` // base64 of 32 bytes
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Members      []string `json:"members"` // uuids; not changed in place
	Admins       []string `json:"admins"`  // are members too; not changed in place
	BotAdmin     bool     `json:"bot_admin"`
	Announcement bool     `json:"announcement"` // only admins may write
	Left         bool     `json:"left"`         // the bot is no member (any more)
	revision     int
}

// PublicID is the group's id in REST paths and recipients.
func (g Group) PublicID() string { return PublicID(g.ID) }

// PublicID turns an internal group id into the one REST uses.
func PublicID(internal string) string {
	return "group." + base64.StdEncoding.EncodeToString([]byte(internal))
}

// demoPeople are the members of the groups that the command line names; the
// first is their admin.
var demoPeople = []string{
	"11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222",
	"33333333-3333-4333-8333-333333333333", "44444444-4444-4444-8444-444444444444",
}

// DemoGroup returns the group of the chat page: the one with bytes 0 to 31.
func DemoGroup(name string) Group {
	id := make([]byte, 32)
	for i := range id {
		id[i] = byte(i)
	}
	return Group{ID: base64.StdEncoding.EncodeToString(id), Name: name, Members: demoPeople, Admins: demoPeople[:1]}
}

// NamedGroup returns a group whose id follows from its name.
func NamedGroup(name string) Group {
	return Group{ID: namedID(name), Name: name, Members: demoPeople, Admins: demoPeople[:1]}
}

func namedID(name string) string {
	id := sha256.Sum256([]byte("quartet simulated group " + name))
	return base64.StdEncoding.EncodeToString(id[:])
}

const (
	maxGroups  = 2_000
	maxMembers = 1_001
)

// roster is the groups there are.
type roster struct {
	mu     sync.RWMutex
	groups []Group        // guarded by mu; in the order they came
	at     map[string]int // guarded by mu; index by id
}

func (r *roster) set(groups []Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups, r.at = nil, map[string]int{}
	for _, g := range groups {
		g.revision = 1
		r.at[g.ID] = len(r.groups)
		r.groups = append(r.groups, g)
	}
}

// GroupList returns all groups.
func (n *Network) GroupList() []Group {
	n.roster.mu.RLock()
	defer n.roster.mu.RUnlock()
	return slices.Clone(n.roster.groups)
}

// GroupByID returns the group with this internal id.
func (n *Network) GroupByID(id string) (Group, bool) {
	n.roster.mu.RLock()
	defer n.roster.mu.RUnlock()
	i, known := n.roster.at[id]
	if !known {
		return Group{}, false
	}
	return n.roster.groups[i], true
}

// PutGroups makes groups, or replaces those of the same id; one without an id
// is known by its name. All of them or none.
func (n *Network) PutGroups(groups []Group) error {
	r := &n.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh := 0
	for i := range groups {
		g := &groups[i]
		if g.ID == "" {
			if g.Name == "" {
				return fmt.Errorf("group %d: want a name or an internal_id", i+1)
			}
			g.ID = namedID(g.Name)
			for _, known := range r.groups {
				if known.Name == g.Name {
					g.ID = known.ID
				}
			}
		}
		if id, err := base64.StdEncoding.DecodeString(g.ID); err != nil || len(id) != 32 {
			return fmt.Errorf("group %d: internal_id: want base64 of 32 bytes", i+1)
		}
		for _, admin := range g.Admins {
			if !slices.Contains(g.Members, admin) {
				g.Members = append(slices.Clip(g.Members), admin)
			}
		}
		if len(g.Members) > maxMembers {
			return fmt.Errorf("group %d: want at most %d members", i+1, maxMembers)
		}
		if _, known := r.at[g.ID]; !known {
			fresh++
		}
	}
	if len(r.groups)+fresh > maxGroups {
		return errors.New("too many groups")
	}
	for _, g := range groups {
		if i, known := r.at[g.ID]; known {
			g.revision = r.groups[i].revision + 1
			r.groups[i] = g
			continue
		}
		g.revision = 1
		r.at[g.ID] = len(r.groups)
		r.groups = append(r.groups, g)
	}
	return nil
}

// leave makes the bot leave a group.
func (r *roster) leave(id string) *Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, known := r.at[id]
	switch {
	case !known:
		return groupNotFound(id)
	case r.groups[i].Left:
		return notMember(r.groups[i])
	}
	r.groups[i].Left = true
	r.groups[i].revision++
	return nil
}
