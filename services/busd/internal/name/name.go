// Package name keeps who owns which well-known bus name and who waits for it.
//
// A Registry answers RequestName and ReleaseName as the D-Bus specification,
// "Message Bus Messages", and where that is silent dbus-daemon do, and says
// what changed hands, so that the bus can send NameLost, NameOwnerChanged and
// NameAcquired in that order. Each request costs constant time, however long
// queues are and however many names a connection has.
//
// Valid names, permission and limits are the caller's to check, and unique
// names and org.freedesktop.DBus do not belong here. Files: name.go for the
// registry and its questions, request.go for what changes it, queue.go for the
// lists.
package name

import "slices"

// Flags of RequestName; other bits are ignored.
const (
	AllowReplacement uint32 = 1 // others may take the name away by ReplaceExisting
	ReplaceExisting  uint32 = 2 // take the name away from an owner that allows it
	DoNotQueue       uint32 = 4 // rather fail, and rather lose the name, than wait
)

// Replies of RequestName.
const (
	PrimaryOwner uint32 = 1
	InQueue      uint32 = 2
	Exists       uint32 = 3
	AlreadyOwner uint32 = 4
)

// Replies of ReleaseName.
const (
	Released    uint32 = 1
	NonExistent uint32 = 2
	NotOwner    uint32 = 3
)

// Registry knows the owner and the queue of every well-known name. O identifies
// a connection; its zero value means nobody. The zero Registry is empty and
// ready. It is not safe for concurrent use.
type Registry[O comparable] struct {
	entries map[string]*entry[O]
	seats   map[seat[O]]*place[O]
	members map[O]*member[O]
}

// Change says that a name went from Old to New; the zero O is nobody.
type Change[O comparable] struct {
	Name     string
	Old, New O
}

// entry is a name with its owner, which is first, and its queue behind it. It
// exists as long as there is an owner.
type entry[O comparable] struct {
	name        string
	first, last *place[O]
}

// member is a connection with its places. The newest leads to those it got before.
type member[O comparable] struct {
	newest *place[O]
	count  int
}

// seat finds a connection's place in a queue.
type seat[O comparable] struct {
	entry *entry[O]
	owner O
}

// place is a connection's place at a name.
type place[O comparable] struct {
	entry *entry[O]
	owner O
	flags uint32

	ahead, behind *place[O] // in the queue of the entry
	older, newer  *place[O] // among the places of the owner
}

// Owner returns who owns the name, if anybody does.
func (r *Registry[O]) Owner(name string) (owner O, ok bool) {
	if e := r.entries[name]; e != nil {
		return e.first.owner, true
	}
	return owner, false
}

// Queue returns everyone at the name, the owner first and then who waits, in
// the order in which they will get it; nil if there is no owner.
func (r *Registry[O]) Queue(name string) []O {
	e := r.entries[name]
	if e == nil {
		return nil
	}
	var list []O
	for p := e.first; p != nil; p = p.behind {
		list = append(list, p.owner)
	}
	return list
}

// Names returns all names that have an owner, sorted.
func (r *Registry[O]) Names() []string {
	list := make([]string, 0, len(r.entries))
	for name := range r.entries {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// Len returns how many names have an owner.
func (r *Registry[O]) Len() int { return len(r.entries) }

// Count returns how many names o owns or waits for: both count towards
// max_names_per_connection.
func (r *Registry[O]) Count(o O) int {
	if m := r.members[o]; m != nil {
		return m.count
	}
	return 0
}

// IsOwnerOrQueued reports whether o owns the name or waits for it.
func (r *Registry[O]) IsOwnerOrQueued(o O, name string) bool {
	return r.place(r.entries[name], o) != nil
}
