package load

import "fmt"

// churned is the name that comes and goes.
const churned = "org.quartet.Churn"

// names takes and releases a name while as many as there are peers watch it:
// two changes for each operation, and each watcher sees all.
func names(r *run) error {
	watchers, err := r.subscribe(r.size.Peers, "type='signal',sender='"+busName+"',member='NameOwnerChanged',arg0='"+churned+"'")
	if err != nil {
		return err
	}
	defer closeAll(watchers)
	c, err := r.dial(little, false)
	if err != nil {
		return err
	}
	defer c.close()
	w, err := watch(watchers)
	if err != nil {
		return err
	}
	defer w.close()

	const exclusive = 4
	request := toBus("RequestName", "su", appendUint32(appendString(nil, churned), exclusive)).bytes()
	release := toBus("ReleaseName", "s", appendString(nil, churned)).bytes()
	t := &team{conns: append(watchers[:len(watchers):len(watchers)], c)}
	if err := r.start(); err != nil {
		return err
	}
	t.start(func() error { return seeChanges(w, 2*r.size.Count) })
	t.start(func() error {
		for range r.size.Count {
			for _, call := range [][]byte{request, release} {
				if err := c.send(call); err != nil {
					return err
				}
				reply, err := c.reply(c.serial)
				if err != nil {
					return err
				}
				if got := number(reply.bodyBytes()); got != 1 {
					return fmt.Errorf("the bus answered %d", got)
				}
			}
		}
		return nil
	})
	if err := t.end(); err != nil {
		return err
	}
	return r.stop()
}

// seeChanges waits until every connection has seen n changes of owner.
func seeChanges(w *crowd, n int) error {
	seen := make([]int, len(w.conns))
	left := len(w.conns)
	return w.each(func() bool { return left == 0 }, func(i int, m frame) error {
		if m.kind() != typeSignal || string(m.field(fieldMember)) != "NameOwnerChanged" {
			return nil
		}
		switch seen[i]++; {
		case seen[i] == n:
			left--
		case seen[i] > n:
			return fmt.Errorf("a watcher saw more than %d changes", n)
		}
		return nil
	})
}
