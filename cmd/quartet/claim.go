package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pidFile names the file that holds the launcher's process id. Its lock, not
// its content, says whether that launcher still runs: a lock ends with its
// process, a number may by then belong to somebody else.
const pidFile = "quartet.pid"

// claim makes the data folder ours until the returned function is called. It
// refuses when another launcher has it.
func claim(data string) (release func(), err error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(data, pidFile)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			pid, _ := holder(data)
			return nil, fmt.Errorf("already running in %s (process %d): `make down` stops it, --data takes another folder", data, pid)
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	err = errors.Join(f.Truncate(0), write(f, strconv.Itoa(os.Getpid())+"\n"))
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	// Closing unlocks. The file stays: removing it could take away the one
	// that the next launcher has just locked.
	return func() { f.Truncate(0); f.Close() }, nil
}

func write(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// holder returns the process that holds the data folder, 0 when none does.
func holder(data string) (int, error) {
	f, err := os.Open(filepath.Join(data, pidFile))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		return 0, nil // nobody holds it; closing gives our lock back
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return 0, err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return 0, err
	}
	if len(text) == 0 {
		return 0, nil // it is about to start, or has stopped everything and ends
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// downWait is longer than a launcher takes when every child must be killed.
const downWait = 90 * time.Second

// down is `quartet down`: it stops the launcher of the data folder and returns
// when it has gone. It is content when none runs.
func down(ctx context.Context, args []string, out, errs io.Writer) error {
	o, err := parseDown(args, errs)
	if err != nil {
		return err
	}
	pid, err := holder(o.data)
	if err != nil {
		return err
	}
	if pid == 0 {
		fmt.Fprintln(out, "nothing runs in", o.data)
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, downWait)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		if now, err := holder(o.data); err != nil || now != pid {
			fmt.Fprintln(out, "stopped")
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("process %d still runs: %w", pid, ctx.Err())
		}
	}
}
