package signalnet

import (
	"strings"
	"sync/atomic"
	"time"
)

const (
	maxAcks    = 8      // receipts of one kind for one send
	maxPending = 10_000 // sends whose receipts are still to be given
)

// acks counts the sends whose recipients have not confirmed them yet.
type acks struct{ pending atomic.Int64 }

// acknowledge lets the recipients of a message confirm it, if they are to.
func (n *Network) acknowledge(m Message, timestamp int64) {
	kind := n.Quirks.Text("receipts")
	people := n.readers(m)
	if kind == "none" || len(people) == 0 {
		return
	}
	var list []Spec
	give := func(kind string) {
		for _, who := range people {
			list = append(list, Spec{Sender: who, Extra: &Extra{Receipt: &Receipted{Kind: kind, Timestamps: []int64{timestamp}}}})
		}
	}
	give("delivery")
	if kind == "read" {
		give("read")
	}
	enqueue := func() {
		if n.enqueue(&batch{specs: list, gracious: true}) != nil {
			n.ReceiptsSkipped.Add(int64(len(list)))
			return
		}
		n.ReceiptsGiven.Add(int64(len(list)))
	}
	delay := n.Quirks.Duration("receipt_delay")
	if delay <= 0 {
		enqueue()
		return
	}
	if n.acks.pending.Add(1) > maxPending {
		n.acks.pending.Add(-1)
		n.ReceiptsSkipped.Add(int64(len(list)))
		return
	}
	time.AfterFunc(delay, func() {
		defer n.acks.pending.Add(-1)
		enqueue()
	})
}

// readers returns who confirms a message.
func (n *Network) readers(m Message) []string {
	var people []string
	for _, id := range m.Groups {
		g, _ := n.GroupByID(id)
		people = append(people, g.Members...)
	}
	for _, who := range m.Recipients {
		if len(m.Groups) == 0 && strings.Count(who, "-") == 4 { // a uuid: of a number nobody is known
			people = append(people, who)
		}
	}
	return people[:min(len(people), maxAcks)]
}
