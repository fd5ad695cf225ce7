package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"quartet/e2e/internal/stack"
)

// A bot that is stopped while it cannot take all that comes answers the rest
// after its start: what it had taken, what it was holding and what signal-cli
// had written to it already.
func TestStoppedBotLosesNothing(t *testing.T) {
	const asked = 600
	w := stack.StartWorld(t, stack.Options{
		Way:    stack.RPC,
		Env:    []string{"BOTD_COOLDOWN=0", "BOTD_DRAIN_TIMEOUT=100ms", "BOTD_BACKLOG_BYTES=64KiB", "BOTD_STATE_DIR=" + t.TempDir()},
		Signal: []string{"-latency", "send_text=20ms"},
	})
	var frames []stack.Frame
	for n := range asked {
		frames = append(frames, stack.Frame{Text: "!ja", Sender: person(n), Name: fmt.Sprint("q", n)})
	}
	first := w.Start(t, "BOTD_LIMIT=2")
	w.Signal.Say(t, 0, frames...)
	w.Signal.Sends(t, 0, stack.Patience) // it has begun
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	unknown := strings.Count(first.Log(), `"outcome_unknown":true`)
	w.Start(t, "BOTD_LIMIT=64")
	sends := collect(t, w.Signal, asked-unknown)
	answers := map[string]int{}
	for _, s := range sends {
		name, _, _ := strings.Cut(s.Message, ":")
		answers[name]++
	}
	if len(sends) != len(answers) || len(answers) < asked-unknown {
		t.Errorf("%d of %d were answered, by %d messages; %d are unknown", len(answers), asked, len(sends), unknown)
	}
}

// A post is answered before its frame is on the disk, and a stop in the middle of
// many has them all there.
func TestStoppedBotHasWhatItWasPosted(t *testing.T) {
	l := newLives(t, stack.Webhook, "botd")
	for range 4 {
		p := l.start(t)
		var frames []stack.Frame
		for range 400 {
			frames = append(frames, l.ask())
		}
		l.emitEvery(t, 0, frames...)
		l.wait(t, int64(len(frames)/2))
		err := p.Stop()
		l.killed = time.Now()
		if err != nil {
			t.Fatal(err)
		}
		l.examine(t, true)
		p.Forget()
		if t.Failed() {
			return
		}
	}
	l.finish(t)
	t.Log(l)
}
