// Package transport is what botd's ways to Signal have in common: the small
// interfaces that the bot sees, the messages, receipts and errors that cross
// them, and for each class of error what is to be done about it.
//
//	transport.go  Source and Sender, and what the bot must know of them
//	receiver.go   how frames are handed on
//	message.go    what is sent, and what is known of it afterwards
//	error.go      what a refusal means, action.go what follows from it
//	classify.go   words and codes of the servers, sorted into classes
//	line.go       one line of JSON-RPC, taken apart
//	format.go     JSON strings and data URIs, written without copies
//	version.go    versions with known faults
//
// It is pure: no clock, no network, no files, no log.
package transport

import (
	"context"
	"time"
)

// A Transport is a way to Signal. Where frames come in by another way than
// messages go out (a webhook beside REST calls), struct{ Source; Sender } is one.
type Transport interface {
	Source
	Sender
}

// A Source brings frames.
type Source interface {
	// Receive hands frames on until ctx ends or the link breaks; it always
	// returns an error that says why. It never reconnects: when to try again is
	// the caller's to decide. One call at a time.
	Receive(ctx context.Context, to Receiver) error

	// Traits say how Receive behaves. They never change.
	Traits() Traits
}

// Traits are what a receiver has to know about its source.
type Traits struct {
	// PressesBack means that Frame may take its time: meanwhile the source
	// reads nothing, frames wait where they come from, and none is lost.
	// Without it Frame must return at once.
	PressesBack bool

	// StandsStill means that the server does nothing else before Frame has
	// returned, not even answer our calls: then Frame must not wait for a disk.
	StandsStill bool

	// MaxSilence is how long a link that works shows no sign of life at most,
	// while Frame is not holding it up. 0: it may be silent for ever.
	MaxSilence time.Duration
}

// A Sender is our account at a server. It is safe for concurrent use; the
// order of two calls that overlap is not kept, so messages to one chat have to
// be sent one after another.
type Sender interface {
	// Send sends one message and waits until it was handed to Signal. The
	// servers set no time limit and may never answer: ctx must.
	//
	// Errors: *Error when the server refused; ErrOutcomeUnknown when the
	// message may have gone out (which some refusals are as well); any other
	// error means that it did not.
	Send(ctx context.Context, o Outgoing) (Receipt, error)

	// React sets or takes back a reaction. Errors are as of Send.
	React(ctx context.Context, r Reaction) error

	// Typing shows in chat that we are typing, for 15 s or until it is called
	// with on false. Errors are as of Send.
	Typing(ctx context.Context, chat Chat, on bool) error

	// Leave leaves a group, by its internal id. Errors are as of Send; one that
	// we are not in may be none.
	Leave(ctx context.Context, group string) error

	// Trust takes a person's new key for theirs, whatever it is: who asks for
	// that has decided that it may be somebody else's. Errors are as of Send.
	Trust(ctx context.Context, recipient string) error

	// SetProfile says who we are to others. Errors are as of Send.
	SetProfile(ctx context.Context, p Profile) error

	// DeleteAttachment removes what came with a message from the server's disk,
	// where it stays for ever otherwise. One that is gone already is no error.
	// Errors are as of Send, and errors.ErrUnsupported where the server cannot.
	DeleteAttachment(ctx context.Context, id string) error

	// Check returns why the server cannot serve us, or nil: it must be there,
	// in a mode that we can use, and know our number. Warnings are about what
	// works but is known to be bad; they may come beside an error.
	Check(ctx context.Context) ([]Warning, error)
}

// A Warning is about something that works and should be changed.
type Warning struct {
	Name string // stable, for metrics: "signal_cli_slow_groups"
	Text string // what is wrong and what helps, for the operator
}
