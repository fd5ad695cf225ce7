// Package sdnotify tells systemd how a service is, in the protocol of
// sd_notify(3): that it has become ready, what it is doing, that it is alive,
// and that it stops.
//
// Life is what the service itself says: when its check does not answer, the
// watchdog is not fed, and systemd ends a process that hangs and starts it anew.
// While a start takes long, because an outside party is not there yet, systemd
// is asked for more time instead, for as long as the check answers.
//
// Outside systemd nothing happens at all. What Run cannot send is logged, once,
// stops nothing, and is said again as long as it is true. What else a service has
// to say (RELOADING), it says itself, with Tell. There are no descriptors
// (FDSTORE), and no socket but those on Unix.
package sdnotify

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// startPause and pause lie between two checks, before the service is first
	// ready and afterwards; a short watchdog makes them shorter.
	startPause = 500 * time.Millisecond
	pause      = 5 * time.Second

	// patience is the time that a start gets with each check that answers. It is
	// more than a check may take.
	patience = 30 * time.Second

	sendTimeout = time.Second // systemd takes a datagram at once, or is in trouble
	maxStatus   = 256         // bytes of a status line
)

// Service is what the checks of a service say of it.
type Service struct {
	// Ready returns nil when the service can work, or why not.
	Ready func(ctx context.Context) error

	// Alive reports whether an error of Ready is a verdict. Otherwise the check
	// has not answered, and the service counts as hanging.
	Alive func(ready error) bool

	// Stop is how long the service may take to end, from its first signal on.
	Stop time.Duration

	// Log gets what could not be sent. nil discards it.
	Log *slog.Logger
}

// Notifier is the way to systemd. The nil Notifier goes nowhere.
type Notifier struct {
	socket   string
	watchdog time.Duration // 0: systemd does not watch
	told                   // what systemd knows
	failed   bool          // a failure was logged
}

type told struct {
	ready  bool   // READY=1 is sent
	status string // the last that was sent
}

// New reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, as systemd sets them,
// through getenv. It returns nil where there is no systemd to tell.
func New(getenv func(string) string) (*Notifier, error) {
	socket, err := socketOf(getenv)
	if err != nil || socket == "" {
		return nil, err
	}
	n := &Notifier{socket: socket}
	period := getenv("WATCHDOG_USEC")
	if period == "" {
		return n, nil
	}
	every, err := time.ParseDuration(period + "us")
	if err != nil || every <= 0 {
		return nil, fmt.Errorf("WATCHDOG_USEC=%s: no number of microseconds", period)
	}
	if pid := getenv("WATCHDOG_PID"); pid == "" || pid == strconv.Itoa(os.Getpid()) { // else it is meant for our parent
		n.watchdog = every
	}
	return n, nil
}

// socketOf is where systemd listens, "" where there is none.
func socketOf(getenv func(string) string) (string, error) {
	socket := getenv("NOTIFY_SOCKET")
	if socket != "" && socket[0] != '/' && socket[0] != '@' {
		return "", fmt.Errorf("NOTIFY_SOCKET=%s: neither a path nor, with @ before it, an abstract name", socket)
	}
	return socket, nil
}

// Tell sends systemd lines in one datagram, beside what Run says. It takes a
// second at most.
func Tell(getenv func(string) string, lines ...string) error {
	socket, err := socketOf(getenv)
	if err != nil || socket == "" {
		return err
	}
	return write(socket, strings.Join(lines, "\n"))
}

// Run tells systemd of s until ctx ends, and then that it stops. Call it once.
func (n *Notifier) Run(ctx context.Context, s Service) {
	if n == nil {
		<-ctx.Done()
		return
	}
	for {
		next := time.NewTimer(n.pause())
		before := n.told
		if lines := n.look(ctx, s); ctx.Err() == nil && !n.send(ctx, s, lines...) {
			n.told = before
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			n.send(ctx, s, "STOPPING=1", "STATUS=stopping", extend(s.Stop))
			return
		}
	}
}

// pause is the time from one look to the next: what is asked of a watchdog is at
// most half its time.
func (n *Notifier) pause() time.Duration {
	d := pause
	if !n.ready {
		d = startPause
	}
	if n.watchdog > 0 {
		d = min(d, n.watchdog/2)
	}
	return d
}

// look returns what there is to tell of s now.
func (n *Notifier) look(ctx context.Context, s Service) (lines []string) {
	err := s.Ready(ctx)
	switch {
	case err == nil && !n.ready:
		n.ready = true
		lines = append(lines, "READY=1")
	case !n.ready && s.Alive(err):
		lines = append(lines, extend(patience))
	}
	if n.watchdog > 0 && s.Alive(err) {
		lines = append(lines, "WATCHDOG=1")
	}
	if status := statusOf(err); status != n.status {
		n.status = status
		lines = append(lines, "STATUS="+status)
	}
	return lines
}

func statusOf(err error) string {
	if err == nil {
		return "ready"
	}
	text := strings.Join(strings.Fields("not ready: "+err.Error()), " ") // one line
	return strings.ToValidUTF8(text[:min(len(text), maxStatus)], "")
}

// extend asks for time beyond the unit's own time-outs, of starting or stopping.
func extend(d time.Duration) string { return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", d.Microseconds()) }

// send writes one datagram, and says whether it could. Each has a connection of
// its own, so that a systemd that was started anew meanwhile gets it too.
func (n *Notifier) send(ctx context.Context, s Service, lines ...string) bool {
	if len(lines) == 0 {
		return true
	}
	err := write(n.socket, strings.Join(lines, "\n"))
	if err != nil && !n.failed && s.Log != nil {
		n.failed = true
		s.Log.LogAttrs(ctx, slog.LevelWarn, "systemd not told", slog.Any("err", err))
	}
	return err == nil
}

func write(socket, text string) error {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	_, err = c.Write([]byte(text))
	return err
}
