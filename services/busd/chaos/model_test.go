package chaos_test

import (
	"fmt"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// A ledger is what one caller knows of its calls: each has one answer in the
// end, and those of one server come in the order of the calls.
type ledger struct {
	open map[uint32]entry // by serial
	last map[string]int   // by server, the highest number that it has answered
}

// An entry is a call that has no answer yet.
type entry struct {
	server string
	number int // of all calls of this caller
}

func newLedger() *ledger { return &ledger{open: map[uint32]entry{}, last: map[string]int{}} }

// asked notes a call.
func (l *ledger) asked(serial uint32, server string, number int) {
	l.open[serial] = entry{server, number}
}

// answered checks an answer, and says whether it is from the server itself.
func (l *ledger) answered(m *client.Message) (served bool, err error) {
	if m.Type != wire.MethodReturn && m.Type != wire.ErrorReply {
		return false, nil
	}
	e, asked := l.open[m.ReplySerial]
	if !asked {
		return false, fmt.Errorf("an answer to call %d, which has one already or was never made: %s from %s", m.ReplySerial, m.ErrorName, m.Sender)
	}
	delete(l.open, m.ReplySerial)
	if m.Sender == wire.BusName {
		return false, nil
	}
	values := m.Values()
	if number := int(values.Uint32()); number != e.number {
		return true, fmt.Errorf("call %d of %s is answered as call %d", e.number, e.server, number)
	}
	if e.number <= l.last[m.Sender] {
		return true, fmt.Errorf("%s has answered call %d behind call %d", m.Sender, e.number, l.last[m.Sender])
	}
	l.last[m.Sender] = e.number
	return true, nil
}

// An order checks that the numbers of each sender come without a gap.
type order struct{ last map[string]uint32 }

func newOrder() *order { return &order{map[string]uint32{}} }

// next checks one number; the first of a sender may be any.
func (o *order) next(sender string, number uint32) error {
	last, known := o.last[sender]
	o.last[sender] = number
	if known && number != last+1 {
		return fmt.Errorf("message %d of %s comes behind message %d", number, sender, last)
	}
	return nil
}
