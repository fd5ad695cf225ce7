package load

import "fmt"

// A client with many proxies has one connection: each proxy asks for its rule
// and for the owner of its name before it does anything, and nobody waits for
// anybody.

// startProxies writes what n proxies say as they start, and waits for all
// answers.
func startProxies(c *conn, n int) error {
	for i := range n {
		rule := fmt.Sprintf("type='signal',sender='%s',path='%s/proxy%d',interface='org.freedesktop.DBus.Properties'", loadService, loadPath, i)
		if err := c.send(toBus("AddMatch", "s", appendString(nil, rule)).bytes()); err != nil {
			return err
		}
		if err := c.send(toBus("GetNameOwner", "s", appendString(nil, loadService)).bytes()); err != nil {
			return err
		}
	}
	due := c.serial - uint32(2*n) + 1
	for due <= c.serial {
		m, err := c.next()
		if err != nil {
			return fmt.Errorf("proxies start: %w", err)
		}
		answer, err := answers(m, due)
		if err != nil {
			return fmt.Errorf("proxies start: %w", err)
		}
		if answer {
			due++
		}
	}
	return nil
}

// shared lets proxies start and then call, each with one call in flight.
func shared(r *run) error {
	s, err := r.serve(much, false, nil)
	if err != nil {
		return err
	}
	c, err := r.dial(much, false)
	if err != nil {
		return s.abandon(err)
	}
	defer c.close()
	if err := r.start(); err != nil {
		return s.abandon(err)
	}
	if err := startProxies(c, r.size.Peers); err != nil {
		return s.abandon(err)
	}
	p := &pipeline{conn: c, call: echo(loadService, text(payload)).bytes(), window: r.size.Peers}
	if err := p.run(r.size.Count); err != nil {
		return s.abandon(err)
	}
	if err := r.stop(); err != nil {
		return s.abandon(err)
	}
	return s.stop(r.size.Count)
}

// starts lets such a client start, call once with each proxy, and go, again and
// again: none may be disconnected.
func starts(r *run) error {
	s, err := r.serve(much, false, nil)
	if err != nil {
		return err
	}
	call := echo(loadService, text(payload)).bytes()
	if err := r.start(); err != nil {
		return s.abandon(err)
	}
	for i := range r.size.Count {
		if err := r.startOne(call); err != nil {
			return s.abandon(fmt.Errorf("start %d: %w", i+1, err))
		}
	}
	if err := r.stop(); err != nil {
		return s.abandon(err)
	}
	return s.stop(r.size.Count * r.size.Peers)
}

func (r *run) startOne(call []byte) error {
	c, err := r.dial(much, false)
	if err != nil {
		return err
	}
	defer c.close()
	if err := startProxies(c, r.size.Peers); err != nil {
		return err
	}
	p := &pipeline{conn: c, call: call, window: r.size.Peers}
	return p.run(r.size.Peers)
}
