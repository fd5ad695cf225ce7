package load

import (
	"bytes"
	"errors"
	"fmt"
)

// wanted is the rule of a subscriber.
const wanted = "type='signal',interface='" + loadInterface + "',member='Tick'"

// subscribe makes n connections with that rule.
func (r *run) subscribe(n int, rule string) ([]*conn, error) {
	cs, err := r.dialMany(n, much)
	if err != nil {
		return nil, err
	}
	for _, c := range cs {
		if err := c.addMatch(rule); err != nil {
			closeAll(cs)
			return nil, err
		}
	}
	return cs, nil
}

// expectation checks the ticks that one subscriber gets.
type expectation struct {
	serial uint32 // of the next one
	body   []byte
}

// seen says whether a message is the tick that is expected now, and fails when
// it is another: one was lost, doubled, changed, or came too early.
func (e *expectation) seen(m frame) (bool, error) {
	if m.kind() != typeSignal || string(m.field(fieldMember)) != "Tick" {
		return false, nil // NameAcquired
	}
	if m.serial() != e.serial {
		return false, fmt.Errorf("signal %d came where %d was due", m.serial(), e.serial)
	}
	if !bytes.Equal(m.bodyBytes(), e.body) {
		return false, fmt.Errorf("signal %d came with another body", m.serial())
	}
	e.serial++
	return true, nil
}

// broadcast writes signals without a wait; every subscriber reads all.
func broadcast(r *run) error {
	return r.deliver(r.size.Peers)
}

func (r *run) deliver(to int) error {
	subscribers, err := r.subscribe(to, wanted)
	if err != nil {
		return err
	}
	defer closeAll(subscribers)
	sender, err := r.dial(little, false)
	if err != nil {
		return err
	}
	defer sender.close()
	body := text(payload)
	signal := tick(body).bytes()
	t := &team{conns: append(subscribers[:to:to], sender)}
	first := sender.serial + 1
	if err := r.start(); err != nil {
		return err
	}
	for _, c := range subscribers {
		t.start(func() error { return receive(c, r.size.Count, &expectation{serial: first, body: body}) })
	}
	t.start(func() error {
		for range r.size.Count {
			if err := sender.send(signal); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(t.end(), r.stop())
}

// receive reads a connection until n ticks have come.
func receive(c *conn, n int, e *expectation) error {
	for left := n; left > 0; {
		m, err := c.next()
		if err != nil {
			return fmt.Errorf("%d of %d signals to come: %w", left, n, err)
		}
		due, err := e.seen(m)
		if err != nil {
			return err
		}
		if due {
			left--
		}
	}
	return nil
}

// unwanted writes signals without a subscriber. The answer to a call behind
// them says that the bus has read them all.
func unwanted(r *run) error {
	c, err := r.dial(little, false)
	if err != nil {
		return err
	}
	defer c.close()
	signal := tick(text(payload)).bytes()
	if err := r.start(); err != nil {
		return err
	}
	for range r.size.Count {
		if err := c.send(signal); err != nil {
			return err
		}
	}
	if _, err := c.call(toBus("GetId", "", nil)); err != nil {
		return err
	}
	return r.stop()
}

// others is how many rules each foreign connection has.
const others = 1000

// foreignRules fills the bus with rules for the same signal from other paths,
// and then measures a burst to the one who wants it.
func foreignRules(r *run) error {
	cs, err := r.dialMany(r.size.Peers, much)
	if err != nil {
		return err
	}
	defer closeAll(cs)
	for i, c := range cs {
		for j := range others {
			rule := fmt.Sprintf("%s,path='/org/quartet/other/c%d/r%d'", wanted, i, j)
			if err := c.send(toBus("AddMatch", "s", appendString(nil, rule)).bytes()); err != nil {
				return err
			}
			if j%100 == 99 { // so that neither side's queue fills
				if _, err := c.reply(c.serial); err != nil {
					return err
				}
			}
		}
	}
	return r.deliver(1)
}
