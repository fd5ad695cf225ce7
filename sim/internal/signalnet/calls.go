package signalnet

import (
	"context"
	"time"
)

// Call is something other than a send that a caller asked for.
type Call struct {
	Seq          uint64    `json:"seq"`
	Kind         string    `json:"kind"`
	Via          string    `json:"via"` // rest or rpc
	Begin        time.Time `json:"begin"`
	End          time.Time `json:"end"`
	Group        string    `json:"group,omitempty"` // internal id
	Recipient    string    `json:"recipient,omitempty"`
	Emoji        string    `json:"emoji,omitempty"`
	TargetAuthor string    `json:"target_author,omitempty"`
	Timestamp    int64     `json:"timestamp,omitempty"` // ms; of the message it is about
	Detail       string    `json:"detail,omitempty"`
	Failure      string    `json:"failure,omitempty"` // its class; empty = done
}

func (c Call) size() int64 {
	return int64(200 + len(c.Group) + len(c.Recipient) + len(c.Emoji) + len(c.TargetAuthor) + len(c.Detail))
}

// Calls returns up to limit calls after a number, and the number to ask after next.
func (n *Network) Calls(after uint64, limit int) ([]Call, uint64) { return n.calls.Since(after, limit) }

// WaitCall returns when there is a call after the number, or ctx ends.
func (n *Network) WaitCall(ctx context.Context, after uint64) error { return n.calls.Wait(ctx, after) }

// note writes a call down, which ends now.
func (n *Network) note(c Call, f *Failure) {
	c.End = time.Now()
	if f != nil {
		c.Failure = f.Class
	}
	n.calls.Add(func(seq uint64) Call {
		c.Seq = seq
		return c
	})
}

// Read notes a call that only reads, and has ended.
func (n *Network) Read(kind, via, detail string, began time.Time) {
	n.note(Call{Kind: kind, Via: via, Detail: detail, Begin: began}, nil)
}

// manage plays a call that changes something: it takes its time and then acts,
// if the account is there.
func (n *Network) manage(ctx context.Context, number string, c Call, act func() *Failure) *Failure {
	if n.Latency.Wait(ctx, Manage, c.Begin) != nil {
		return failure("transient")
	}
	var f *Failure
	if !n.HasAccount(number) {
		f = failure("account")
	} else {
		f = act()
	}
	n.note(c, f)
	return f
}
