package load

import (
	"errors"
	"fmt"
	"time"
)

// big is what a big call carries.
const big = 1 << 20

// calls keeps as many calls in flight on one connection as it has peers.
func calls(r *run) error { return r.calls(text(payload)) }

// bigCalls is the same with a big body.
func bigCalls(r *run) error { return r.calls(text(big)) }

func (r *run) calls(body []byte) error {
	s, err := r.serve(much, false, sameBody(body))
	if err != nil {
		return err
	}
	c, err := r.dial(much, false)
	if err != nil {
		return s.abandon(err)
	}
	defer c.close()
	p := &pipeline{conn: c, call: echo(loadService, body).bytes(), window: r.size.Peers}
	warm := min(500, r.size.Count/10+1)
	if err := p.run(warm); err != nil {
		return s.abandon(err)
	}
	p.took = make([]time.Duration, 0, r.size.Count)
	if err := r.start(); err != nil {
		return s.abandon(err)
	}
	if err := p.run(r.size.Count); err != nil {
		return s.abandon(err)
	}
	if err := r.stop(); err != nil {
		return s.abandon(err)
	}
	if p.timed() {
		r.latencies(p.took)
	}
	return s.stop(warm + r.size.Count)
}

// pipeline is a caller with a window of calls in flight. Replies come from one
// service, so they come in the order of the calls.
type pipeline struct {
	conn   *conn
	call   []byte
	window int

	took []time.Duration // of each call; when timed
}

// timed says whether each call is timed: with many in flight the time that one
// takes is that of the queue before it.
func (p *pipeline) timed() bool { return p.window == 1 || len(p.call) > big }

// run makes n calls.
func (p *pipeline) run(n int) error {
	due := p.conn.serial + 1             // what the next reply answers
	began := make([]time.Time, p.window) // of each call in flight
	for sent, got := 0, 0; got < n; {
		for ; sent < n && sent-got < p.window; sent++ {
			if p.timed() {
				began[sent%p.window] = time.Now()
			}
			if err := p.conn.send(p.call); err != nil {
				return err
			}
		}
		if err := p.conn.fill(); err != nil {
			return fmt.Errorf("%d of %d replies to come: %w", n-got, n, err)
		}
		for {
			m, ok, err := p.conn.take()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			answer, err := answers(m, due)
			if err != nil {
				return err
			}
			if !answer {
				continue
			}
			if p.timed() {
				p.took = append(p.took, time.Since(began[got%p.window]))
			}
			got++
			due++
		}
	}
	return nil
}

// answers says whether a message is the reply to that serial, and fails when it
// is another reply.
func answers(m frame, serial uint32) (bool, error) {
	switch m.kind() {
	case typeError:
		return false, m.failure()
	case typeReturn:
		if got := m.replySerial(); got != serial {
			return false, fmt.Errorf("the reply to call %d came where that to %d was due", got, serial)
		}
		return true, nil
	}
	return false, nil
}

// driver calls the bus itself.
func driver(r *run) error {
	c, err := r.dial(little, false)
	if err != nil {
		return err
	}
	defer c.close()
	call := toBus("NameHasOwner", "s", appendString(nil, c.name)).bytes()
	took := make([]time.Duration, 0, r.size.Count)
	if err := r.start(); err != nil {
		return err
	}
	for range r.size.Count {
		began := time.Now()
		if err := c.send(call); err != nil {
			return err
		}
		reply, err := c.reply(c.serial)
		if err != nil {
			return err
		}
		if number(reply.bodyBytes()) != 1 {
			return errors.New("the bus does not know the caller's name")
		}
		took = append(took, time.Since(began))
	}
	if err := r.stop(); err != nil {
		return err
	}
	r.latencies(took)
	return nil
}
