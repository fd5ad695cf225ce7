package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"quartet/e2e/internal/stack"
)

// people is how many write at once: more than slots, so that one person's
// order and everybody's speed are both at stake.
const people = 200

// flow lets n commands come 1.5 ms apart from people, with 50 ms of latency at
// Signal's side and 32 slots, and checks that every one is answered, in order
// for each person. It returns the replies a second, from the first reply to
// the last.
func flow(t testing.TB, n int) float64 {
	t.Helper()
	b := stack.StartBotd(t, stack.Options{Env: []string{"BOTD_LIMIT=32", "BOTD_COOLDOWN=0"}})
	b.Signal.Put(t, "latency", map[string]any{"send_text": "50ms"})
	return answered(t, b, n, 1500*time.Microsecond)
}

// answered lets n commands come at the given spacing and checks that every one
// is answered, in order for each person.
func answered(t testing.TB, b *stack.Botd, n int, spacing time.Duration) (perSecond float64) {
	t.Helper()
	frames := make([]stack.Frame, n)
	for i := range frames {
		p := i % people
		frames[i] = stack.Frame{Text: "!ja", Sender: person(p), Name: fmt.Sprint("p", p)} // direct: the answer goes to the sender
	}
	b.Signal.Say(t, spacing, frames...)

	// !ja counts the asker's uses: answer k of a person must say k.
	uses := map[string]int{}
	var first, last time.Time
	var after int64
	for got := 0; got < n; {
		var page []stack.Sent
		page, after = b.Signal.Sends(t, after, 10*time.Second)
		if len(page) == 0 {
			t.Fatalf("%d of %d commands were answered; the simulator says %v", got, n, b.Signal.Stats(t))
		}
		for _, s := range page {
			if got == 0 {
				first = s.At
			}
			got++
			last = s.At
			who := s.Recipients[0]
			uses[who]++
			if !strings.Contains(s.Message, fmt.Sprintf(": od początku %d polece", uses[who])) {
				t.Fatalf("answer %d of %s says %q", uses[who], who, s.Message)
			}
		}
	}
	return float64(n-1) / last.Sub(first).Seconds()
}

func TestManyPeopleAreAnsweredInOrder(t *testing.T) { flow(t, 2_000) }

// BenchmarkReplies is the same with ten times as many, which takes half a
// minute. 32 slots of 50 ms allow 640 replies a second, and frames come at 667.
func BenchmarkReplies(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(flow(b, 20_000), "replies/s")
	}
}
