package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"quartet/e2e/internal/stack"
)

// rounds is how often the bot is killed: 12 times on a user's machine, 100 in
// CI, 1,000 with QUARTET_SOAK=1, as make soak sets it.
func rounds() int {
	switch {
	case os.Getenv("QUARTET_SOAK") != "":
		return 1_000
	case whole():
		return 100
	}
	return 12
}

// whole reports whether the tests are to take their time: in CI, once.
func whole() bool { return os.Getenv("CI") != "" && !testing.Short() }

const (
	perRound  = 24                   // questions
	pace      = 2 * time.Millisecond // between them
	killLimit = 4                    // BOTD_LIMIT: how many can be in flight at a kill
)

// A bot that is killed at any moment, again and again, answers nothing twice,
// and everything that it had taken but for what it was just sending, which it
// calls unknown. What it had not taken came last, and lies in a gap that it
// reports.
func TestKilledBotAnswersEverythingOnce(t *testing.T) {
	for _, way := range stack.Ways() {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			l := newLives(t, way, "botd", fmt.Sprint("BOTD_LIMIT=", killLimit))
			for i := range rounds() {
				l.round(t)
				if t.Failed() {
					t.Fatalf("in round %d", i+1)
				}
				if (i+1)%50 == 0 {
					t.Logf("round %d: %s", i+1, l)
				}
			}
			l.finish(t)
			t.Logf("%d rounds: %s", rounds(), l)
		})
	}
}

// round is one life: questions come, some of them twice, and in the middle it
// is killed.
func (l *lives) round(t *testing.T) {
	t.Helper()
	p := l.start(t)
	l.emit(t, l.questions(perRound)...)
	l.wait(t, rand.Int64N(perRound))
	time.Sleep(rand.N(10 * pace)) // the moment is the test
	l.killed = time.Now()
	p.Signal(syscall.SIGKILL)
	_ = p.Wait() // by the signal
	l.examine(t, false)
	p.Forget()
}

// wait waits until no more than so many frames are still to come.
func (l *lives) wait(t *testing.T, left int64) {
	t.Helper()
	for deadline := time.Now().Add(stack.Patience); l.world.Signal.Number(t, "frames_queued") > left; time.Sleep(pace) {
		if time.Now().After(deadline) {
			t.Fatal("frames do not come")
		}
	}
}

// questions makes n new ones. Every sixth comes twice, one that was taken
// before comes again, and one that was taken before is edited.
func (l *lives) questions(n int) []stack.Frame {
	var frames []stack.Frame
	for i := range n {
		f := l.ask()
		frames = append(frames, f)
		if i%6 == 0 {
			frames = append(frames, f)
		}
	}
	if len(l.taken) > 0 {
		for _, edited := range []bool{false, true} {
			f := l.asked[l.taken[rand.N(len(l.taken))]]
			if edited {
				f.EditOf, f.Timestamp = f.Timestamp, l.now()
			}
			at := rand.N(len(frames))
			frames = append(frames[:at], append([]stack.Frame{f}, frames[at:]...)...)
		}
	}
	return frames
}
