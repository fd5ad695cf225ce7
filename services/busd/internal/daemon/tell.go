package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"quartet/kit/sdnotify"
)

const (
	aliveTimeout = 3 * time.Second // a turn of the bus takes milliseconds
	stopTimeout  = 5 * time.Second // so does its end
)

// tellSystemd tells systemd that the bus is ready, alive, and stops.
func (d *daemon) tellSystemd(ctx context.Context) {
	systemd, err := sdnotify.New(os.Getenv)
	if err != nil {
		d.log.LogAttrs(ctx, slog.LevelWarn, "systemd not told", slog.Any("err", err))
		return
	}
	systemd.Run(ctx, sdnotify.Service{
		Ready: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, aliveTimeout)
			defer cancel()
			return d.alive(ctx)
		},
		Alive: func(ready error) bool { return ready == nil || errors.Is(ready, errStopped) },
		Stop:  stopTimeout,
		Log:   d.log.Logger,
	})
}

// tellReloading and tellReloaded are for units of Type=notify-reload, whose
// reload ends with the second.
func (d *daemon) tellReloading() {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return
	}
	d.tell("RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/1000))
}

func (d *daemon) tellReloaded() { d.tell("READY=1") }

func (d *daemon) tell(lines ...string) {
	if err := sdnotify.Tell(os.Getenv, lines...); err != nil {
		d.log.Warn("systemd not told of a reload", slog.Any("err", err))
	}
}
