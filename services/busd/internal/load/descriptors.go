package load

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// descriptors calls with one descriptor, one call in flight.
func descriptors(r *run) error {
	s, err := r.serve(much, true, nil)
	if err != nil {
		return err
	}
	c, err := r.dial(much, true)
	if err != nil {
		return s.abandon(err)
	}
	defer c.close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return s.abandon(err)
	}
	defer null.Close()
	call := message{kind: typeCall, path: loadPath, iface: loadInterface, member: "Echo", destination: loadService,
		signature: "h", fds: 1, body: appendUint32(nil, 0)}.bytes()
	rights := unix.UnixRights(int(null.Fd()))
	took := make([]time.Duration, 0, r.size.Count)
	if err := r.start(); err != nil {
		return s.abandon(err)
	}
	for range r.size.Count {
		began := time.Now()
		c.serial++
		setSerial(call, c.serial)
		if err := c.writeFD(call, rights); err != nil {
			return s.abandon(err)
		}
		if _, err := c.reply(c.serial); err != nil {
			return s.abandon(err)
		}
		took = append(took, time.Since(began))
	}
	if err := r.stop(); err != nil {
		return s.abandon(err)
	}
	r.latencies(took)
	if err := s.stop(r.size.Count); err != nil {
		return err
	}
	if s.conn.fds != r.size.Count {
		return fmt.Errorf("the service got %d of %d descriptors", s.conn.fds, r.size.Count)
	}
	return nil
}
