package load

import "time"

// connect makes connections one after the other.
func connect(r *run) error {
	took := make([]time.Duration, 0, r.size.Count)
	if err := r.start(); err != nil {
		return err
	}
	for range r.size.Count {
		began := time.Now()
		c, err := r.dial(little, false)
		if err != nil {
			return err
		}
		took = append(took, time.Since(began))
		c.close()
	}
	if err := r.stop(); err != nil {
		return err
	}
	r.latencies(took)
	return nil
}

// storm makes as many connections at once as it has peers, again and again.
func storm(r *run) error {
	if err := r.start(); err != nil {
		return err
	}
	for left := r.size.Count; left > 0; left -= r.size.Peers {
		if err := r.storm(min(left, r.size.Peers)); err != nil {
			return err
		}
	}
	return r.stop()
}

func (r *run) storm(n int) error {
	cs := make([]*conn, 0, n)
	defer func() { closeAll(cs) }()
	for range n {
		c, err := r.open(little, false)
		if err != nil {
			return err
		}
		cs = append(cs, c)
	}
	for _, c := range cs {
		if err := c.finish(); err != nil {
			return err
		}
	}
	return nil
}
