package ledger

import (
	"slices"
	"unique"

	"quartet/services/botd/internal/envelope"
)

// entry is what is remembered of one message: 64 bytes, because there are many.
type entry struct {
	name
	of    int64             // of a later edit, the message that it edits; else 0
	at    int64             // when it was taken, Unix milliseconds
	begun int64             // when its answer was begun, likewise; 0 if it was not
	in    *envelope.Message // while it waits and its text is here
	next  *entry            // another of the same name

	device int32
	edit   bool
	gone   bool // it is remembered no longer, though order may have it still
	state  code
	text   place
}

// name is what a message shares with its edits, and with those of another device
// of the same moment, which there hardly ever are.
type name struct {
	who  unique.Handle[string]
	sent int64
}

func nameOf(sender string, sent int64) name { return name{unique.Make(sender), sent} }

// place is where the text of a message is.
type place uint8

const (
	nowhere place = iota // it does not wait
	here
	inSpill
	inOldSpill // an earlier life put it there, if no loss of power took it
)

// code is a State in one byte.
type code uint8

const (
	waiting code = iota
	inFlight
	sent
	failed
	unknown
	dropped
	noCommand // dropped too
	noState
)

func (c code) State() State {
	return [...]State{Waiting, InFlight, Sent, Failed, Unknown, Dropped, Dropped}[c]
}

func (c code) settled() bool { return c != waiting && c != inFlight }

// codeOf is noState for what is no state.
func codeOf(s State) code {
	i := slices.Index([]State{Waiting, InFlight, Sent, Failed, Unknown, Dropped, NoCommand}, s)
	if i < 0 {
		return noState
	}
	return code(i)
}

func (e *entry) key() Key { return Key{e.who.Value(), int(e.device), e.sent, e.edit} }

// is reports whether e is the message of that key, by more than its name.
func (e *entry) is(k Key) bool { return e.device == int32(k.Device) && e.edit == k.Edit }

// left reports whether e waits in what an earlier life spilled.
func (e *entry) left() bool { return e.text == inOldSpill }

// wait says where the text of a message that waits is.
func (e *entry) wait(m *envelope.Message, spilled bool) {
	if spilled {
		e.in, e.text = nil, inSpill
		return
	}
	kept := *m
	e.in, e.text = &kept, here
}
