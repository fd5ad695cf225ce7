package e2e_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"quartet/e2e/internal/stack"
)

// stages are the points at which the bot is killed, and what that does to the
// message that it is working on.
var stages = []struct {
	name     string
	answered int  // times, in the end
	unknown  int  // answers that the next life calls so
	kept     bool // the message is in the folder
}{
	{"received", 0, 0, false},
	{"journaled", 1, 0, true},
	{"reserved", 1, 0, true},
	{"begun", 0, 1, true},
	{"sent", 1, 1, true},
	{"settled", 1, 0, true},
}

// A bot that is killed between two steps does the next one at its next start
// if it can know that it was not done, and says unknown if it cannot. It is
// never done twice, not even when the frame comes again.
func TestKillAtEachStageCostsOneMessageAtMost(t *testing.T) {
	for _, way := range stack.Ways() {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			l := newLives(t, way, stack.FaultBuild, "BOTD_LIMIT=1")
			for _, s := range stages {
				unknown := l.unknown
				before, n := len(l.asked), len(l.asked)+1
				l.die(t, s.name)
				if kept := l.takenIn[n] > 0; kept != s.kept {
					t.Errorf("%s: that the message is in the folder is %v", s.name, kept)
				}
				p := l.start(t)
				if got := l.unknown - unknown; got != s.unknown {
					t.Errorf("%s: %d answers are unknown, want %d", s.name, got, s.unknown)
				}
				l.settle(t)
				if l.answers[before] != 1 || l.answers[n] != s.answered {
					t.Errorf("%s: answered %d and %d times, want once and %d", s.name, l.answers[before], l.answers[n], s.answered)
				}
				l.emit(t, l.asked[n]) // comes again; what was never taken is a new question
				l.settle(t)
				if want := max(s.answered, 1-s.unknown); l.answers[n] != want {
					t.Errorf("%s: answered %d times after the frame came again, want %d", s.name, l.answers[n], want)
				}
				l.killed = time.Now()
				if err := p.Stop(); err != nil {
					t.Errorf("%s: the next life ended with %v", s.name, err)
				}
				l.examine(t, true)
				if t.Failed() {
					return
				}
			}
		})
	}
}

// die asks two questions of a life that ends at a stage of the second.
func (l *lives) die(t *testing.T, stage string) {
	t.Helper()
	p := l.start(t, "FAULT_POINT="+stage+":2")
	l.emit(t, l.ask())
	l.settle(t)
	l.emit(t, l.ask())
	l.ended(t, p, stage)
}

// ended waits for the end of a life by its own hand.
func (l *lives) ended(t *testing.T, p *stack.Process, stage string) {
	t.Helper()
	exit, ok := errors.AsType[*exec.ExitError](p.Wait())
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%s: botd did not end there", stage)
	}
	l.killed = time.Now()
	l.examine(t, false)
}

// settle waits until the bot has all that was emitted, and nothing to do. It
// looks twice: a frame that is counted is a moment later where it can be seen.
func (l *lives) settle(t *testing.T) {
	t.Helper()
	quiet := false
	stack.Eventually(t, "the bot has nothing to do", func() error {
		before := quiet
		quiet = false
		s := l.counters(t)
		frames := l.world.Metrics(t)
		if busy := s["frames_queued"] + s["frames_waiting"] + s["sends_pending"]; busy > 0 || !frames.Idle() {
			return fmt.Errorf("%d frames and sends are under way", busy)
		}
		if came, read := l.came(s), frames.Sum("quartet_botd_frames_total"); float64(came) > read {
			return fmt.Errorf("%d frames came, and %v were read", came, read)
		}
		if quiet = true; !before {
			return errors.New("look again")
		}
		return nil
	})
	l.collect(t, 0)
}

// came is how many frames were given to the present life.
func (l *lives) came(now map[string]int64) int64 {
	name := "frames_delivered"
	if l.way == stack.Webhook {
		name = "frames_posted"
	}
	return now[name] - l.before[name]
}

// What waits on disk behind a full backlog is answered by the next life, and
// nothing of it twice, however far the bot had come with it.
func TestKillWithASpilledBacklogLosesNothing(t *testing.T) {
	for _, way := range []stack.Way{stack.Websocket, stack.Webhook} { // JSON-RPC presses back instead
		for _, stage := range []string{"spilled:1", "spilled:20", "journaled:100", "settled:90"} {
			t.Run(fmt.Sprint(way, "/", strings.ReplaceAll(stage, ":", "-")), func(t *testing.T) {
				t.Parallel()
				l := newLives(t, way, stack.FaultBuild, "BOTD_LIMIT=1", "BOTD_BACKLOG_BYTES=64KiB")
				p := l.start(t, "FAULT_POINT="+stage)
				var frames []stack.Frame
				for range 150 {
					frames = append(frames, l.ask())
				}
				l.emit(t, frames...)
				l.ended(t, p, stage)
				if strings.HasPrefix(stage, "spilled") {
					l.torn++ // it is on disk, and to the ledger it has not come
				}
				l.finish(t)
				t.Log(l)
			})
		}
	}
}
