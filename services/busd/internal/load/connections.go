package load

import "time"

// connections has as many callers as peers, all of one service.
func connections(r *run) error {
	body := text(payload)
	s, err := r.serve(much, false, sameBody(body))
	if err != nil {
		return err
	}
	cs, err := r.dialMany(r.size.Peers, little)
	if err != nil {
		return s.abandon(err)
	}
	defer closeAll(cs)
	w, err := watch(cs)
	if err != nil {
		return s.abandon(err)
	}
	defer w.close()
	if err := r.callAll(w, echo(loadService, body).bytes()); err != nil {
		return s.abandon(err)
	}
	return s.stop(r.size.Count)
}

// callAll lets every connection of a crowd call until Count calls were
// answered.
func (r *run) callAll(w *crowd, call []byte) error {
	began := make([]time.Time, len(w.conns)) // of the call in flight on each
	took := make([]time.Duration, 0, r.size.Count)
	sent := 0
	send := func(i int) error {
		if sent == r.size.Count {
			return nil
		}
		sent++
		began[i] = time.Now()
		return w.conns[i].send(call)
	}
	if err := r.start(); err != nil {
		return err
	}
	for i := range w.conns {
		if err := send(i); err != nil {
			return err
		}
	}
	err := w.each(func() bool { return len(took) == r.size.Count }, func(i int, m frame) error {
		answer, err := answers(m, w.conns[i].serial)
		if err != nil || !answer {
			return err
		}
		took = append(took, time.Since(began[i]))
		return send(i)
	})
	if err != nil {
		return err
	}
	if err := r.stop(); err != nil {
		return err
	}
	r.latencies(took)
	return nil
}

// mid is what a call to oneself carries.
const mid = 16 << 10

// self has connections that are caller and service in one.
func self(r *run) error {
	cs, err := r.dialMany(r.size.Peers, much)
	if err != nil {
		return err
	}
	defer closeAll(cs)
	w, err := watch(cs)
	if err != nil {
		return err
	}
	defer w.close()
	body := text(mid)
	check := sameBody(body)
	calls, replies := make([][]byte, len(cs)), make([][]byte, len(cs))
	inFlight := make([]uint32, len(cs))
	for i, c := range cs {
		calls[i] = echo(c.name, body).bytes()
		replies[i] = message{kind: typeReturn, flags: noReply, replies: true, destination: c.name}.bytes()
	}
	sent, got := 0, 0
	send := func(i int) error {
		if sent == r.size.Count {
			return nil
		}
		sent++
		err := cs[i].send(calls[i])
		inFlight[i] = cs[i].serial
		return err
	}
	if err := r.start(); err != nil {
		return err
	}
	for i := range cs {
		if err := send(i); err != nil {
			return err
		}
	}
	err = w.each(func() bool { return got == r.size.Count }, func(i int, m frame) error {
		if m.kind() == typeCall {
			if err := check(m); err != nil {
				return err
			}
			setReplySerial(replies[i], m.serial())
			return cs[i].send(replies[i])
		}
		answer, err := answers(m, inFlight[i])
		if err != nil || !answer {
			return err
		}
		got++
		return send(i)
	})
	if err != nil {
		return err
	}
	return r.stop()
}
