package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// stack is the running system: what `make up` starts, and a place for traces.
type stack struct {
	signal, web, botd, busd, bus string // base URLs

	cmd    *exec.Cmd
	out    *bytes.Buffer
	exited chan struct{} // closed when it has ended
	traces *collector
}

// startStack starts everything on a row of ports, without anybody who talks.
// Cats are fetched when they are asked for, not ahead, so that a picture
// command shows whose time it takes when nothing is prepared.
func startStack(ctx context.Context, quartet, dir string, base int) (*stack, error) {
	traces, err := collect(ctx)
	if err != nil {
		return nil, err
	}
	s := &stack{signal: at(base), web: at(base + 1), botd: at(base + 2), busd: at(base + 3), bus: at(base + 4),
		traces: traces, out: &bytes.Buffer{}, exited: make(chan struct{})}
	s.cmd = exec.Command(quartet, "up", "--quiet", "--chatter", "0", "--ports", strconv.Itoa(base), "--data", filepath.Join(dir, "stack"))
	s.cmd.Env = append(os.Environ(), "BOTD_CAT_POOL=0", "BOTD_SEND_TIMEOUT=6s", "BUSD_SEND_TIMEOUT=5s", "OTEL_EXPORTER_OTLP_ENDPOINT="+traces.url,
		"OTEL_METRICS_EXPORTER=prometheus", "OTEL_BSP_SCHEDULE_DELAY=1000")
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := s.cmd.Start(); err != nil {
		traces.stop()
		return nil, fmt.Errorf("start the system: %w", err)
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	err = eventually(ctx, 60*time.Second, s.ready(ctx))
	select {
	case <-s.exited:
		err = errors.New("quartet ended")
	default:
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("wait for the system: %w; quartet says:\n%s", err, s.out)
	}
	return s, nil
}

func (s *stack) ready(ctx context.Context) func() error {
	return func() error {
		select {
		case <-s.exited:
			return nil // and no use waiting
		default:
			return get(ctx, s.bus+"/_sim/health", nil) // the last to start
		}
	}
}

// services are the base URLs of what is scraped, by job.
func (s *stack) services() map[string]string {
	return map[string]string{"botd": s.botd, "busd": s.busd}
}

func (s *stack) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	<-s.exited
	s.traces.stop()
}

func at(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }
