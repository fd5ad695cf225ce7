// Package rules keeps what admins decided in chats: which groups the bot answers
// in, whom it does not hear, which commands are off in a chat and how long they
// have to be waited for there. Who is an admin, and what holds where nothing was
// decided, is others' business.
//
// A decision is in the journal before it holds, and after an error everything is
// as before. Questions are asked on every message: they wait for nobody and
// allocate nothing.
package rules

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"quartet/services/botd/internal/store"
	"quartet/services/botd/internal/transport"
)

const (
	maxGroups   = 10_000 // allowed or forbidden
	maxPeople   = 10_000 // ignored
	maxSwitches = 10_000 // commands in chats
	maxCalled   = 10_000 // unknown groups; beyond it the first one's goes
)

// ErrTooMany is returned when as many things were decided as can be remembered.
// Nothing was changed; what is taken back makes room.
var ErrTooMany = errors.New("too many rules, take others back first")

// Rules is a store.Book. It is safe for concurrent use.
type Rules struct {
	w *store.Store

	deciding sync.Mutex // held over each change, until it is written and holds
	now      atomic.Pointer[decided]

	mu      sync.RWMutex
	called  called              // unknown groups that admins were told of; guarded by mu, changed by who decides
	telling map[string]struct{} // and those that they are being told of; guarded by mu
}

// New returns rules by which nothing is decided.
func New(w *store.Store) *Rules {
	r := &Rules{w: w, called: called{is: make(map[string]struct{})}, telling: make(map[string]struct{})}
	r.now.Store(newDecided())
	return r
}

// Allowed reports whether the bot answers in a group.
func (r *Rules) Allowed(group string) bool {
	return r.now.Load().groups[group]
}

// Forbidden reports whether it must not, whoever else allows it.
func (r *Rules) Forbidden(group string) bool {
	allowed, known := r.now.Load().groups[group]
	return known && !allowed
}

// Allow makes it so. FirstCall is true again should the group be forbidden later.
func (r *Rules) Allow(group string) error {
	return r.decide("allow a group", record{Op: allow, Group: group})
}

// Forbid makes the opposite so, until it is allowed again.
func (r *Rules) Forbid(group string) error {
	return r.decide("forbid a group", record{Op: forbid, Group: group})
}

// Ignored reports whether the bot does not hear somebody.
func (r *Rules) Ignored(person string) bool {
	_, is := r.now.Load().people[person]
	return is
}

// Ignore makes it so.
func (r *Rules) Ignore(person string) error {
	return r.decide("ignore somebody", record{Op: ignore, Person: person})
}

// Hear takes Ignore back.
func (r *Rules) Hear(person string) error {
	return r.decide("hear somebody again", record{Op: hear, Person: person})
}

// Off reports whether a command is switched off in a chat.
func (r *Rules) Off(command string, chat transport.Chat) bool {
	s := r.now.Load().switches
	return len(s) > 0 && s[place{command, chat}].off
}

// SwitchOff makes it so.
func (r *Rules) SwitchOff(command string, chat transport.Chat) error {
	return r.decide("switch a command off", record{Op: off, Command: command, Group: chat.Group, Person: chat.User})
}

// SwitchOn takes SwitchOff back.
func (r *Rules) SwitchOn(command string, chat transport.Chat) error {
	return r.decide("switch a command on", record{Op: on, Command: command, Group: chat.Group, Person: chat.User})
}

// Limits returns how long one person waits between two uses of a command in a
// chat, if that is set.
func (r *Rules) Limits(command string, chat transport.Chat) (d time.Duration, set bool) {
	s := r.now.Load().switches
	if len(s) == 0 {
		return 0, false
	}
	here := s[place{command, chat}]
	return here.wait, here.set
}

// SetCooldown sets it. 0 is no wait; less takes back what was set.
func (r *Rules) SetCooldown(command string, chat transport.Chat, d time.Duration) error {
	return r.decide("set a cooldown", record{Op: wait, Command: command, Group: chat.Group, Person: chat.User, Wait: max(d, -1)})
}

// decide changes what holds, once it is written. What holds already is not
// written again.
func (r *Rules) decide(what string, c record) error {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	now := r.now.Load()
	changes, err := now.changedBy(c)
	if err == nil && changes {
		err = r.w.Append(c.encode())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if changes {
		next := now.copyFor(c)
		next.take(c)
		r.now.Store(next)
	}
	if c.Op == allow {
		r.uncall(c.Group)
	}
	return nil
}
