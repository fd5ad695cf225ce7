package signalnet

import (
	"errors"
	"fmt"
)

// extra never returns nil.
func (s Spec) extra() Extra {
	if s.Extra == nil {
		return Extra{}
	}
	return *s.Extra
}

// Kind says what a frame is.
func (s Spec) Kind() string {
	if len(s.Raw) > 0 {
		return "raw"
	}
	x := s.extra()
	switch {
	case x.Sync:
		return "sync"
	case x.EditOf != 0:
		return "edit"
	case x.DeleteOf != 0:
		return "delete"
	case x.Reaction != nil:
		return "reaction"
	case x.Typing != "":
		return "typing"
	case x.Receipt != nil:
		return "receipt"
	case x.Update:
		return "update"
	default:
		return "message"
	}
}

// Check says what is wrong with a spec, if anything.
func (s Spec) Check() error {
	if len(s.Raw) > 0 || s.Extra == nil {
		if len(s.Raw) == 0 && s.Sender == "" {
			return errors.New("want a sender")
		}
		return nil
	}
	x := s.Extra
	kinds := 0
	for _, is := range []bool{x.EditOf != 0, x.DeleteOf != 0, x.Reaction != nil, x.Typing != "", x.Receipt != nil, x.Update} {
		if is {
			kinds++
		}
	}
	switch {
	case s.Sender == "" && !x.Sync:
		return errors.New("want a sender")
	case kinds > 1:
		return errors.New("want at most one of edit_of, delete_of, reaction, typing, receipt and update")
	case x.Sync && (x.Reaction != nil || x.Typing != "" || x.Receipt != nil || x.Update):
		return errors.New("sync goes with a text, edit_of and delete_of only")
	case x.Update && s.Group == "":
		return errors.New("update: want a group")
	case x.Typing != "" && x.Typing != "STARTED" && x.Typing != "STOPPED":
		return errors.New("typing: want STARTED or STOPPED")
	case x.Age < 0:
		return errors.New("age: want none that is negative")
	case x.Receipt != nil && (x.Receipt.Kind != "delivery" && x.Receipt.Kind != "read" && x.Receipt.Kind != "viewed" || len(x.Receipt.Timestamps) == 0):
		return errors.New("receipt: want kind delivery, read or viewed, and timestamps")
	}
	for _, f := range x.Attachments {
		if f.Bytes < 0 || f.Bytes > maxStoredFile {
			return fmt.Errorf("attachments: want 0 to %d bytes", maxStoredFile)
		}
	}
	return nil
}

func (s Spec) size() int64 {
	n := len(s.Text) + len(s.Sender) + len(s.Name) + len(s.Group) + len(s.Raw) + 64
	if x := s.Extra; x != nil {
		n += 256 + 64*(len(x.Attachments)+len(x.Mentions))
		for _, f := range x.Attachments {
			n += len(f.ContentType) + len(f.Filename)
		}
		for _, m := range x.Mentions {
			n += len(m.UUID) + len(m.Name)
		}
		if x.Quote != nil {
			n += len(x.Quote.Text)
		}
		if x.Receipt != nil {
			n += 8 * len(x.Receipt.Timestamps)
		}
	}
	return int64(n)
}
