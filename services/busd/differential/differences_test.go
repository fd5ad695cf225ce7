package differential_test

import (
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
}

// differences are all of them.
var differences = []difference{
	{
		"answers to calls without destination",
		"In dbus-daemon they come from its library, which leaves sender and destination out. busd answers as the bus in everything.",
		func(_ buses.Kind, e *event) bool {
			if _, has := e.fields[fieldSender]; !has && e.replySerial() != 0 {
				e.fields[fieldSender], e.fields[fieldDestination] = text(busName), text(e.at)
				e.serial = 0
			}
			return true
		},
	},
	{
		"byte order",
		"busd forwards a body as it is. dbus-daemon swaps it when a match rule has it look at the arguments.",
		func(_ buses.Kind, e *event) bool { e.big = false; return true },
	},
	{
		"when ReloadConfig is answered",
		"busd reads the files beside its work and answers when the new configuration holds; meanwhile it answers other questions. dbus-daemon does nothing else while it reads. That the answer comes is checked when it is asked for.",
		func(_ buses.Kind, e *event) bool { return e.answers != "ReloadConfig" || e.kind != answer },
	},
	{
		"texts of errors",
		"Programs go by the names of errors; the texts are for people, name the limit that was reached, and quote what dbus-daemon's do not.",
		func(_ buses.Kind, e *event) bool {
			if e.kind == failure && e.fromBus() {
				e.body = nil
			}
			return true
		},
	},
	{
		"order of lists of names and rules",
		"The specification gives them none, and dbus-daemon's is that of its hash table.",
		func(_ buses.Kind, e *event) bool {
			if slices.Contains([]string{"ListNames", "ListActivatableNames", "GetAllMatchRules", "GetConnectionCredentials", "GetAll", "GetStats", "GetConnectionStats"}, e.answers) {
				sortArrays(e.body)
			}
			return true
		},
	},
	{
		"ids",
		"Each bus and each process has its own.",
		func(_ buses.Kind, e *event) bool {
			if e.answers == "GetId" || e.answers == "GetConnectionUnixProcessID" {
				blank(e.body)
			}
			if e.answers == "GetConnectionCredentials" {
				keep(e.body, func(key string) bool { return key != "ProcessID" })
			}
			return true
		},
	},
	{
		"ProcessFD",
		"GetConnectionCredentials has it since dbus-daemon 1.15.8, and it costs a peer nothing that does not look at it.",
		func(_ buses.Kind, e *event) bool {
			if e.answers == "GetConnectionCredentials" && e.kind == answer {
				keep(e.body, func(key string) bool { return key != "ProcessFD" })
				delete(e.fields, fieldFDs)
				e.fds = nil
			}
			return true
		},
	},
	{
		"ActivatableServicesChanged",
		"dbus-daemon sends it whenever the configuration is read anew, busd when the services are others than before.",
		func(_ buses.Kind, e *event) bool { return !e.fromBus() || e.text(fieldMember) != "ActivatableServicesChanged" },
	},
	{
		"numbers of Debug.Stats",
		"They count buffers and bytes of one implementation. That the interface is there and who may ask is compared.",
		func(_ buses.Kind, e *event) bool {
			if e.answers == "GetStats" || e.answers == "GetConnectionStats" {
				keep(e.body, func(key string) bool { return key == "UniqueName" || key == "MatchRules" || key == "BusNames" })
			}
			return true
		},
	},
	{
		"introspection",
		"The XML describes the same interfaces in another order and with names for arguments.",
		func(_ buses.Kind, e *event) bool {
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
