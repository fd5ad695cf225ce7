package signalnet

import (
	"context"
	"strings"
	"time"

	"quartet/sim/internal/stopwatch"
)

// Emitted is a frame that was handed to whoever listened.
type Emitted struct {
	Seq       uint64    `json:"seq"`
	At        time.Time `json:"at"`
	Kind      string    `json:"kind"`
	Sender    string    `json:"sender"`
	Group     string    `json:"group,omitempty"`
	Timestamp int64     `json:"timestamp"`
	Text      string    `json:"text,omitempty"` // its first bytes
	Files     []string  `json:"attachments,omitempty"`
}

const maxNotedText = 200 // bytes

func (e Emitted) size() int64 { return int64(150 + len(e.Text) + 40*len(e.Files)) }

// Emissions returns up to limit frames after a number, and the number to ask after next.
func (n *Network) Emissions(after uint64, limit int) ([]Emitted, uint64) {
	return n.emitted.Since(after, limit)
}

// WaitEmitted returns when there is a frame after the number, or ctx ends.
func (n *Network) WaitEmitted(ctx context.Context, after uint64) error {
	return n.emitted.Wait(ctx, after)
}

// noteEmitted writes a frame down at the instant it is handed out, and starts
// the watch if it is a question.
func (n *Network) noteEmitted(f Frame) {
	now := time.Now()
	s := f.Spec
	e := Emitted{At: now, Kind: s.Kind(), Sender: s.Sender, Group: s.Group, Timestamp: s.Timestamp, Text: s.Text, Files: f.Files}
	if len(e.Text) > maxNotedText {
		e.Text = strings.ToValidUTF8(strings.Clone(e.Text[:maxNotedText]), "")
	}
	n.emitted.Add(func(seq uint64) Emitted {
		e.Seq = seq
		return e
	})
	if (e.Kind == "message" || e.Kind == "edit") && strings.HasPrefix(strings.TrimSpace(s.Text), "!") {
		n.Watch.Ask(stopwatch.Question{Sender: s.Sender, Group: s.Group, Timestamp: s.Timestamp, EditOf: s.extra().EditOf, Due: f.Due, Asked: now})
	}
}
