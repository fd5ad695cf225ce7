package load

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// arrivals is what the subscribers of a fan-out share with its sender.
type arrivals struct {
	began time.Time
	at    []time.Duration // when each subscriber got the last signal
	got   atomic.Int32    // how many have it; orders at too
	all   int             // an eventfd: written by the last one
}

// fanout sends one signal at a time, and the next when all have it.
func fanout(r *run) error {
	subscribers, err := r.subscribe(r.size.Peers, wanted)
	if err != nil {
		return err
	}
	defer closeAll(subscribers)
	sender, err := r.dial(little, false)
	if err != nil {
		return err
	}
	defer sender.close()
	efd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	defer unix.Close(efd)

	body := text(payload)
	signal := tick(body).bytes()
	warm := r.size.Count/10 + 1
	a := &arrivals{began: time.Now(), at: make([]time.Duration, len(subscribers)), all: efd}
	t := &team{conns: append(slices.Clip(subscribers), sender)}
	first := sender.serial + 1
	for i, c := range subscribers {
		t.start(func() error {
			return a.receive(i, c, warm+r.size.Count, &expectation{serial: first, body: body})
		})
	}
	each := make([]time.Duration, 0, r.size.Count*len(subscribers))
	last := make([]time.Duration, 0, r.size.Count)
	t.start(func() error {
		for i := range warm + r.size.Count {
			if i == warm {
				if err := r.start(); err != nil {
					return err
				}
			}
			sent, err := a.round(sender, signal)
			if err != nil {
				return err
			}
			if i < warm {
				continue
			}
			for _, at := range a.at {
				each = append(each, at-sent)
			}
			last = append(last, slices.Max(a.at)-sent)
		}
		return r.stop()
	})
	if err := t.end(); err != nil {
		return err
	}
	r.latencies(each)
	slices.Sort(last)
	r.result.Figures[AllP50] = micros(quantile(last, 0.50))
	return nil
}

// round sends one signal and waits until all have it.
func (a *arrivals) round(c *conn, signal []byte) (sent time.Duration, err error) {
	a.got.Store(0)
	sent = time.Since(a.began)
	if err := c.send(signal); err != nil {
		return 0, err
	}
	if err := a.await(c); err != nil {
		return 0, fmt.Errorf("%d of %d have signal %d: %w", a.got.Load(), len(a.at), c.serial, err)
	}
	return sent, nil
}

// await waits for the last arrival, or for the end of the sender's connection.
func (a *arrivals) await(c *conn) error {
	ready := [2]unix.PollFd{{Fd: int32(a.all), Events: unix.POLLIN}, {Fd: int32(c.fd), Events: unix.POLLRDHUP}}
	for {
		n, err := unix.Poll(ready[:], int(patience.Milliseconds()))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("poll: %w", err)
		case n == 0:
			return errLate
		case ready[0].Revents == 0:
			return errGone
		}
		break
	}
	var count [8]byte
	if _, err := unix.Read(a.all, count[:]); err != nil {
		return fmt.Errorf("read eventfd: %w", err)
	}
	if int(a.got.Load()) != len(a.at) {
		return errors.New("one has it twice")
	}
	return nil
}

// receive is subscriber i.
func (a *arrivals) receive(i int, c *conn, n int, e *expectation) error {
	one := [8]byte{1}
	for left := n; left > 0; {
		m, err := c.next()
		if err != nil {
			return fmt.Errorf("%d of %d signals to come: %w", left, n, err)
		}
		due, err := e.seen(m)
		if err != nil {
			return err
		}
		if !due {
			continue
		}
		left--
		a.at[i] = time.Since(a.began)
		if int(a.got.Add(1)) == len(a.at) {
			if _, err := unix.Write(a.all, one[:]); err != nil {
				return fmt.Errorf("write eventfd: %w", err)
			}
		}
	}
	return nil
}
