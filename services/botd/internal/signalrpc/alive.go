package signalrpc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

const (
	// probePeriod is how long nothing may come before the server is asked for
	// a sign of life: signal-cli sends nothing while nobody writes to us, and
	// a half-open connection looks just like that.
	probePeriod = 15 * time.Second

	// silence is how long nothing may come at all before the connection counts
	// as dead: two questions have stayed unanswered then.
	silence = 3 * probePeriod
)

// errSilent ends a connection from which nothing comes any more.
var errSilent = fmt.Errorf("nothing came from signal-cli for %s, not even an answer", silence)

// alive reads from a connection; while nothing comes it calls probe, and in the
// end it gives up. Time in which nobody reads does not count.
type alive struct {
	net.Conn
	probe func() error
}

func (a *alive) Read(p []byte) (int, error) {
	for waited := time.Duration(0); waited < silence; waited += probePeriod {
		if waited > 0 {
			if err := a.probe(); err != nil {
				return 0, fmt.Errorf("probe: %w", err)
			}
		}
		if err := a.SetReadDeadline(time.Now().Add(probePeriod)); err != nil {
			return 0, err
		}
		n, err := a.Conn.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return 0, errSilent
}
