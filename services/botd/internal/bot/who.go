package bot

import (
	"strings"
	"sync"

	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/transport"
)

// circle is who the operator trusts, and where the bot speaks unasked. It is
// immutable.
type circle struct {
	admins map[string]bool // uuids in lower case, and numbers
	groups map[string]bool // internal ids
	all    bool            // every group
	direct bool
}

func newCircle(o Options) circle {
	c := circle{admins: make(map[string]bool), groups: make(map[string]bool), all: o.EveryGroup, direct: o.Direct}
	for _, a := range o.Admins {
		c.admins[strings.ToLower(a)] = true
	}
	for _, g := range o.Groups {
		c.groups[g] = true
	}
	return c
}

// admin reports whether a message is an admin's.
func (c *circle) admin(m *envelope.Message) bool {
	return c.admins[m.Sender] || m.Number != "" && c.admins[m.Number] || c.admins[strings.ToLower(m.Sender)]
}

// itself is our own account, as far as it is known: of old frames only a part
// of it is.
type itself struct {
	number string

	mu   sync.RWMutex
	uuid string // learnt from what another device of ours sent; guarded by mu
}

// wrote reports whether a message is one of ours. Signal hides numbers, so the
// uuid is learnt where one comes with ours.
func (i *itself) wrote(m *envelope.Message) bool {
	if m.Number != "" {
		if m.Number != i.number {
			return false
		}
		i.learn(m.Sender)
		return true
	}
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.uuid != "" && m.Sender == i.uuid
}

func (i *itself) learn(uuid string) {
	i.mu.RLock()
	known := i.uuid == uuid
	i.mu.RUnlock()
	if known {
		return
	}
	i.mu.Lock()
	i.uuid = uuid
	i.mu.Unlock()
}

// chatOf is where an answer belongs: where the question was asked.
func chatOf(m *envelope.Message) transport.Chat {
	if m.GroupID != "" {
		return transport.Chat{Group: m.GroupID}
	}
	return transport.Chat{User: m.Sender}
}

// IsAdmin reports whether somebody is an admin of the bot, by what is known of
// them.
func (b *Bot) IsAdmin(uuid, number string) bool {
	return b.circle.admin(&envelope.Message{Sender: uuid, Number: number})
}
