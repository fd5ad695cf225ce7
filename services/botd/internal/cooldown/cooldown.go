// Package cooldown keeps commands from being used too often.
//
// A use is reserved before its command runs, in all the waits that it begins or
// in none, so that two uses at once never both pass. It is kept when its answer
// begins (the records go into the journal together with that), and refunded when
// nothing came of it; after a failure its person waits for a moment all the same.
// A restart remembers what was kept and forgets what was only reserved.
//
// The time is passed in. While the bot runs, only the time that passed counts; on
// disk stands the wall clock. However that jumps between two runs, nobody waits
// longer than the limit.
//
// What a limit is for each command and chat is others' business, as is what
// people are told.
package cooldown

import "time"

// Limits are how long after one use of a command the next may come; 0 is no wait.
type Limits struct {
	User      time.Duration // of the same person, anywhere
	UserGroup time.Duration // of the same person in the same group
	Group     time.Duration // of anybody in the same group
	Command   time.Duration // of anybody, anywhere
	Global    time.Duration // of anybody, whatever the command
}

// longest is the longest wait; a longer limit is as this one.
const longest = 10 * 365 * 24 * time.Hour

// Use is one use of a command.
type Use struct {
	Person  string
	Group   string // "" in a direct chat, which has no wait of a group
	Command string
}

// Refusal says how long somebody has to wait, and whether this is the first
// time that they are told, so that a flood is answered once.
type Refusal struct {
	Wait  time.Duration
	First bool
}

// scope says which uses wait for each other. The numbers stand in journals.
type scope uint8

const (
	user      scope = 1
	userGroup scope = 2
	group     scope = 3
	command   scope = 4
	global    scope = 5
	failure   scope = 6 // of a person, in no journal

	scopes = 6
)

// sameLimit reports whether all uses of a scope have the same limit, so that one
// that comes with a shorter limit shows that it was changed. A person's own may be
// another one in a direct chat, and commands have different global ones.
func (s scope) sameLimit() bool { return s == userGroup || s == group || s == command }

// key names a wait. What the scope does not look at is empty.
type key struct {
	scope                  scope
	person, group, command string
}

// wait is one that a use begins.
type wait struct {
	key   key
	limit time.Duration
}

// failure is what a use waits for beside its own waits: the one that Fail began.
func (u Use) failure() key { return key{scope: failure, person: u.Person, command: u.Command} }

// waits are those of a use, in to's room.
func (u Use) waits(l Limits, to []wait) []wait {
	add := func(k key, limit time.Duration) {
		if limit > 0 {
			to = append(to, wait{k, min(limit, longest)})
		}
	}
	add(key{scope: user, person: u.Person, command: u.Command}, l.User)
	if u.Group != "" {
		add(key{scope: userGroup, person: u.Person, group: u.Group, command: u.Command}, l.UserGroup)
		add(key{scope: group, group: u.Group, command: u.Command}, l.Group)
	}
	add(key{scope: command, command: u.Command}, l.Command)
	add(key{scope: global}, l.Global)
	return to
}
