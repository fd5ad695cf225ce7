package differential_test

import (
	"cmp"
	"slices"
	"strings"

	"quartet/services/busd/internal/buses"
)

// A difference is one between busd and dbus-daemon that is meant, or cannot be
// otherwise. rewrite takes it out of what a bus has sent: e is one message, and
// the rest of the transcript is compared as it is. It says whether the message
// is compared at all.
type difference struct {
	name, reason string
	rewrite      func(of buses.Kind, e *event) bool
	arrange      func(of []*event) // in place of rewrite: all that one connection has received
}

// differences are all of them.
var differences = []difference{
	{
		name:   "answers to calls without destination",
		reason: "In dbus-daemon they come from its library, which leaves sender and destination out. busd answers as the bus in everything.",
		rewrite: func(_ buses.Kind, e *event) bool {
			if _, has := e.fields[fieldSender]; !has && e.replySerial() != 0 {
				e.fields[fieldSender], e.fields[fieldDestination] = text(busName), text(e.at)
				e.serial = 0
			}
			return true
		},
	},
	{
		name:   "calls without destination, seen by others",
		reason: "busd shows monitors all that is said to the bus, and the answers. dbus-daemon's library handles what has no destination, but for signals, before monitors are asked.",
		rewrite: func(_ buses.Kind, e *event) bool {
			_, addressed := e.fields[fieldDestination]
			switch {
			case strings.HasPrefix(e.answers, toNobody):
				return e.text(fieldDestination) == e.at
			case e.kind != signal && !addressed:
				return e.fromBus()
			}
			return true
		},
	},
	{
		name:    "byte order",
		reason:  "busd forwards a body as it is. dbus-daemon swaps it when a match rule has it look at the arguments.",
		rewrite: func(_ buses.Kind, e *event) bool { e.big = false; return true },
	},
	{
		name:    "when ReloadConfig is answered",
		reason:  "busd reads the files beside its work and answers when the new configuration holds; meanwhile it answers other questions. dbus-daemon does nothing else while it reads. That it was obeyed is waited for.",
		rewrite: func(_ buses.Kind, e *event) bool { return e.answers != "ReloadConfig" || e.kind != answer },
	},
	{
		name:   "texts of errors",
		reason: "Programs go by the names of errors; the texts are for people, name the limit that was reached, and quote what dbus-daemon's do not.",
		rewrite: func(_ buses.Kind, e *event) bool {
			if e.kind == failure && e.fromBus() {
				e.body = nil
			}
			return true
		},
	},
	{
		name:   "order of lists of names and rules",
		reason: "The specification gives them none, and dbus-daemon's is that of its hash table.",
		rewrite: func(_ buses.Kind, e *event) bool {
			if slices.Contains([]string{"ListNames", "ListActivatableNames", "GetAllMatchRules", "GetConnectionCredentials", "GetAll", "GetStats", "GetConnectionStats"}, e.answers) {
				sortArrays(e.body)
			}
			return true
		},
	},
	{
		name:   "ids",
		reason: "Each bus and each process has its own.",
		rewrite: func(_ buses.Kind, e *event) bool {
			if e.answers == "GetId" || e.answers == "GetConnectionUnixProcessID" {
				blank(e.body)
			}
			if e.answers == "GetConnectionCredentials" {
				keep(e.body, func(key string) bool { return key != "ProcessID" })
			}
			if e.fromBus() && e.text(fieldDestination) == busName { // an error about a message of its own
				delete(e.fields, fieldReplySerial)
			}
			return true
		},
	},
	{
		name:   "what a new monitor sees of its own leaving",
		reason: "dbus-daemon shows it the NameOwnerChanged of its own names if there is another monitor already. busd shows them if it had a match rule for them, as dbus-daemon does otherwise.",
		rewrite: func(_ buses.Kind, e *event) bool {
			return !e.fromBus() || e.text(fieldMember) != "NameOwnerChanged" || len(e.body) != 3 || e.body[1].s != e.at
		},
	},
	{
		name:   "order of NoReply for calls that end together",
		reason: "It is one moment for all of them. dbus-daemon begins with the last, busd with the first that was made.",
		arrange: func(of []*event) {
			late := func(e *event) bool { return e.errorIs("NoReply") && e.fromBus() }
			for i := 0; i < len(of); i++ {
				n := 0
				for i+n < len(of) && late(of[i+n]) {
					n++
				}
				slices.SortStableFunc(of[i:i+n], func(a, b *event) int {
					return cmp.Or(strings.Compare(a.text(fieldDestination), b.text(fieldDestination)), cmp.Compare(a.replySerial(), b.replySerial()))
				})
				i += n
			}
		},
	},
	{
		name:   "ProcessFD",
		reason: "GetConnectionCredentials has it since dbus-daemon 1.15.8, and it costs a peer nothing that does not look at it. A monitor that takes no descriptors misses the answers that have one.",
		rewrite: func(_ buses.Kind, e *event) bool {
			if e.answers == "GetConnectionCredentials" && e.kind == answer {
				if e.noFDs && e.text(fieldDestination) != e.at {
					return false
				}
				keep(e.body, func(key string) bool { return key != "ProcessFD" })
				delete(e.fields, fieldFDs)
				e.fds = nil
			}
			return true
		},
	},
	{
		name:   "ActivatableServicesChanged",
		reason: "dbus-daemon sends it whenever the configuration is read anew, busd when the services are others than before.",
		rewrite: func(_ buses.Kind, e *event) bool {
			return !e.fromBus() || e.text(fieldMember) != "ActivatableServicesChanged"
		},
	},
	{
		name:   "numbers of Debug.Stats",
		reason: "They count buffers and bytes of one implementation. That the interface is there and who may ask is compared.",
		rewrite: func(_ buses.Kind, e *event) bool {
			switch e.answers {
			case "GetStats":
				blank(e.body)
			case "GetConnectionStats":
				keep(e.body, func(key string) bool { return key == "UniqueName" || key == "MatchRules" })
			}
			return true
		},
	},
	{
		name:   "introspection",
		reason: "The XML describes the same interfaces in another order and with names for arguments.",
		rewrite: func(_ buses.Kind, e *event) bool {
			if e.answers == "Introspect" && e.kind == answer {
				blank(e.body)
			}
			return true
		},
	},
}

// apply rewrites a transcript by all differences, and counts those that have
// changed something.
func apply(of buses.Kind, t transcript, used map[string]int) transcript {
	out := make(transcript, len(t))
	for i, events := range t {
		for _, e := range events {
			kept := true
			for _, d := range differences {
				if e.end {
					break
				}
				if d.rewrite == nil {
					continue
				}
				before := e.String()
				kept = d.rewrite(of, e) && kept
				if !kept || e.String() != before {
					used[d.name]++
				}
			}
			if kept {
				out[i] = append(out[i], e)
			}
		}
		for _, d := range differences {
			if d.arrange != nil {
				d.arrange(out[i])
			}
		}
	}
	return out
}

func sortArrays(values []value) {
	for i := range values {
		values[i].each(func(v *value) {
			if v.sig[0] == 'a' {
				slices.SortStableFunc(v.in, func(a, b value) int { return strings.Compare(a.String(), b.String()) })
			}
		})
	}
}

// blank takes the values of the body away, not their types.
func blank(values []value) {
	for i := range values {
		values[i] = value{sig: values[i].sig}
	}
}

// keep removes entries of the dictionary that a body is.
func keep(values []value, wanted func(key string) bool) {
	if len(values) == 1 && values[0].sig == "a{sv}" {
		values[0].in = slices.DeleteFunc(values[0].in, func(v value) bool { return !wanted(v.in[0].s) })
	}
}
