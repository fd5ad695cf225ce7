package load

import (
	"bytes"
	"errors"
	"fmt"
)

// service answers every call that it gets with an empty reply, each written by
// itself, until its connection ends.
type service struct {
	conn *conn
	team team

	answered int // by its thread; read after stop
}

// serve starts a service under its well-known name. check, when there is one,
// looks at each call's message.
func (r *run) serve(buffer int, withFDs bool, check func(frame) error) (*service, error) {
	c, err := r.dial(buffer, withFDs)
	if err != nil {
		return nil, err
	}
	const exclusive = 4
	reply, err := c.call(toBus("RequestName", "su", appendUint32(appendString(nil, loadService), exclusive)))
	if err == nil && number(reply.bodyBytes()) != 1 {
		err = errors.New("somebody else has the name")
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("own %s: %w", loadService, err)
	}
	s := &service{conn: c}
	s.team.conns = []*conn{c} // gone with it, the bus tells the callers
	s.team.start(func() error { return s.answer(check) })
	return s, nil
}

func (s *service) answer(check func(frame) error) error {
	replies := map[string][]byte{} // by whom they go to
	for {
		m, err := s.conn.next()
		if errors.Is(err, errGone) {
			return nil // stop
		}
		if err != nil {
			return err
		}
		if m.kind() != typeCall {
			continue // NameAcquired
		}
		if check != nil {
			if err := check(m); err != nil {
				return err
			}
		}
		caller := m.field(fieldSender)
		reply := replies[string(caller)]
		if reply == nil {
			reply = message{kind: typeReturn, flags: noReply, replies: true, destination: string(caller)}.bytes()
			replies[string(caller)] = reply
		}
		setReplySerial(reply, m.serial())
		if err := s.conn.send(reply); err != nil {
			return err
		}
		s.answered++
	}
}

// stop ends the service and says what went wrong in it, or that it has not
// answered as many calls as were made.
func (s *service) stop(calls int) error {
	s.conn.hangUp()
	err := s.team.end()
	s.conn.close()
	if err != nil {
		return fmt.Errorf("service: %w", err)
	}
	if s.answered != calls {
		return fmt.Errorf("the service got %d of %d calls", s.answered, calls)
	}
	return nil
}

// abandon ends it after a failure elsewhere, and adds its own.
func (s *service) abandon(err error) error {
	s.conn.hangUp()
	own := s.team.end()
	s.conn.close()
	return errors.Join(err, own)
}

// sameBody checks that a message's body is want, or has its length where only
// the header was kept.
func sameBody(want []byte) func(frame) error {
	return func(m frame) error {
		if m.bodySize() != len(want) || len(m.raw) == m.size && !bytes.Equal(m.bodyBytes(), want) {
			return fmt.Errorf("a message came with another body: %d bytes of %d", m.bodySize(), len(want))
		}
		return nil
	}
}
