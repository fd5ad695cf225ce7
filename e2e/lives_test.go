package e2e_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"quartet/e2e/internal/stack"
)

// lives is a bot that is killed and started again on the same folder, and what
// the world knows of it: what it was asked, what is in its folder, and what it
// answered. Every question is by a person of its own, so that person's uuid
// tells whether the question was taken, and the person's name comes back.
type lives struct {
	way   stack.Way
	world *stack.World
	state string // BOTD_STATE_DIR

	asked   []stack.Frame    // by number of the question
	clock   int64            // timestamp of the latest
	stream  []int            // what is on its way to the present life, in order
	taken   []int            // what is in the folder, in the order in which it was found
	takenIn map[int]int      // in which life each was
	read    map[string]int64 // how far the folder's files have been read
	answers map[int]int
	after   int64 // the last answer seen

	before  map[string]int64 // the simulator's counters when the last life was examined
	killed  time.Time        // when the last life ended
	missed  int              // frames that came to it, or after it, and were not taken
	count   int              // lives
	unknown int              // answers that the bot calls so
	torn    int              // lives that may have left one message on disk and not in the ledger
	wire    map[int]bool     // questions that were on the wire at a kill, or in the bot's memory alone
}

func newLives(t *testing.T, way stack.Way, program string, env ...string) *lives {
	t.Helper()
	l := &lives{way: way, state: t.TempDir(), clock: time.Now().UnixMilli(),
		takenIn: map[int]int{}, wire: map[int]bool{}, read: map[string]int64{}, answers: map[int]int{}}
	l.world = stack.StartWorld(t, stack.Options{Way: way, Program: program,
		Env:    append([]string{"BOTD_COOLDOWN=1h", "BOTD_STATE_DIR=" + l.state}, env...),
		Signal: []string{"-latency", "send_text=5ms~0.5"}})
	return l
}

func (l *lives) String() string {
	onTheWire, other := l.lost()
	return fmt.Sprintf("%d questions in %d lives, %d answered, %d unknown; not taken: %d on the wire at a kill, %d while the bot was down",
		len(l.asked), l.count, len(l.answers), l.unknown, onTheWire, other)
}

// lost counts the questions that were not taken.
func (l *lives) lost() (onTheWire, other int) {
	for n := range l.asked {
		switch {
		case l.takenIn[n] > 0:
		case l.wire[n]:
			onTheWire++
		default:
			other++
		}
	}
	return onTheWire, other
}

// now is a timestamp that no other question has.
func (l *lives) now() int64 {
	l.clock = max(l.clock+1, time.Now().UnixMilli())
	return l.clock
}

// ask makes a question.
func (l *lives) ask() stack.Frame {
	n := len(l.asked)
	f := stack.Frame{Text: "!ja", Sender: person(n), Name: fmt.Sprint("q", n), Timestamp: l.now()}
	l.asked = append(l.asked, f)
	return f
}

// start begins a life, and reads what the bot says of its earlier one.
func (l *lives) start(t *testing.T, env ...string) *stack.Process {
	t.Helper()
	p := l.world.Start(t, env...)
	l.count++
	for line := range strings.Lines(p.Log()) {
		var entry struct {
			Time    time.Time     `json:"time"`
			Msg     string        `json:"msg"`
			Unknown int           `json:"unknown"`
			Torn    int64         `json:"torn_bytes"`
			Gap     time.Duration `json:"gap"`
		}
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue
		}
		switch {
		case strings.HasPrefix(entry.Msg, "going on where"):
			l.unknown += entry.Unknown
			if entry.Unknown > killLimit {
				t.Errorf("%d answers are unknown, and only %d can have been in flight", entry.Unknown, killLimit)
			}
			if entry.Torn > 0 {
				l.torn++
			}
		case entry.Msg == "receiving" && l.missed > 0:
			if began := entry.Time.Add(-entry.Gap); began.After(l.killed) {
				t.Errorf("the bot was killed at %s, %d frames were lost, and it reports a gap of %s before %s", l.killed.Format(time.StampMicro),
					l.missed, entry.Gap, entry.Time.Format(time.StampMicro))
			}
		}
	}
	return p
}

// emit lets frames come to the present life, after what still waits for it.
func (l *lives) emit(t *testing.T, frames ...stack.Frame) {
	t.Helper()
	l.emitEvery(t, pace, frames...)
}

func (l *lives) emitEvery(t *testing.T, pace time.Duration, frames ...stack.Frame) {
	t.Helper()
	for _, f := range frames {
		n, err := strconv.Atoi(strings.TrimPrefix(f.Name, "q"))
		if err != nil {
			t.Fatal(err)
		}
		l.stream = append(l.stream, n)
	}
	l.world.Signal.Say(t, pace, frames...)
}

// counters are the simulator's: how many frames came to a life, and how many
// could not be given to it.
func (l *lives) counters(t *testing.T) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for name, v := range l.world.Signal.Stats(t) {
		switch v := v.(type) {
		case float64:
			all[name] = int64(v)
		case map[string]any:
			for reason, n := range v {
				all[name+"."+reason] = int64(n.(float64))
			}
		}
	}
	return all
}

// examine looks, after the end of a life and of what was to come to it, at what
// was taken: the simulator gives frames in order, and each of them was taken but
// for the last ones, which were on the wire when the bot was killed, or answered
// and still in its memory. One that was stopped has taken all that it answered.
func (l *lives) examine(t *testing.T, stopped bool) {
	t.Helper()
	l.wait(t, 0)
	l.scan(t)
	now, before := l.counters(t), l.before
	l.before = now
	since := func(name string) int { return int(now[name] - before[name]) }
	given, busy := since("frames_delivered"), since("frames_dropped.busy")
	if l.way == stack.Webhook {
		given = since("frames_posted")
	}
	holes := 0
	var behind []int // the ones after the last that was taken
	for _, n := range l.stream[:min(given+busy, len(l.stream))] {
		switch l.takenIn[n] {
		case 0:
			behind = append(behind, n)
		case l.count:
			holes, behind = holes+len(behind), nil
		} // what was taken in an earlier life leaves no trace
	}
	if holes > busy {
		t.Errorf("%d frames were not taken although a later one was; the server dropped %d", holes, busy)
	}
	if stopped && l.way == stack.Webhook && len(behind) > 0 {
		t.Errorf("%d posts were answered before a stop, and their frames are not in the folder", len(behind))
	}
	rest := l.stream[min(given+busy, len(l.stream)):]
	broken := min(since("frames_dropped.write"), len(rest)) // written in part
	behind, rest = append(behind, rest[:broken]...), rest[broken:]
	for _, n := range behind {
		l.wire[n] = true
	}
	l.stream, l.missed = nil, holes+len(behind)
	if l.way == stack.RPC {
		l.stream = append(l.stream, rest...) // waits at Signal
	} else {
		l.missed += len(rest)
	}
	l.collect(t, 0)
}

// name finds who is in the folder.
var name = regexp.MustCompile(`00000000-0000-4000-8000-(\d{12})`)

// scan reads what is new in the folder's files.
func (l *lives) scan(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(l.state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		from := max(l.read[path]-int64(len(person(0))), 0)
		if from > int64(len(raw)) {
			from = 0 // a new file of that name
		}
		l.read[path] = int64(len(raw))
		for _, found := range name.FindAllSubmatch(raw[from:], -1) {
			n, err := strconv.Atoi(string(found[1]))
			if err != nil {
				return err
			}
			if n--; l.takenIn[n] == 0 {
				l.takenIn[n] = l.count
				l.taken = append(l.taken, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// collect takes in the answers that came, waiting for one at most so long.
func (l *lives) collect(t *testing.T, wait time.Duration) {
	t.Helper()
	var page []stack.Sent
	page, l.after = l.world.Signal.Sends(t, l.after, wait)
	for _, s := range page {
		who, _, ok := strings.Cut(s.Message, ":")
		n, err := strconv.Atoi(strings.TrimPrefix(who, "q"))
		if !ok || err != nil {
			t.Errorf("answered %q", s.Message)
			continue
		}
		if l.answers[n]++; l.answers[n] == 2 {
			t.Errorf("question %d was answered twice", n)
		}
	}
}

// unanswered are the questions that were taken and not answered.
func (l *lives) unanswered() (open []int) {
	for _, n := range l.taken {
		if l.answers[n] == 0 {
			open = append(open, n)
		}
	}
	return open
}

// finish starts the bot once more, lets it answer what it has, and looks at
// the whole: what was taken was answered, but for what is unknown.
func (l *lives) finish(t *testing.T) {
	t.Helper()
	last := l.start(t)
	may := l.unknown + l.torn
	for deadline := time.Now().Add(stack.Patience); time.Now().Before(deadline); {
		l.collect(t, 200*time.Millisecond)
		if l.scan(t); len(l.unanswered()) <= may && l.world.Signal.Number(t, "frames_waiting") == 0 {
			break
		}
	}
	if err := last.Stop(); err != nil { // what is under way comes to its end
		t.Errorf("the last life ended with %v", err)
	}
	l.scan(t)
	l.collect(t, 0)
	if open := l.unanswered(); len(open) > may {
		t.Errorf("%d questions were taken and not answered, and only %d are unknown: %v", len(open), l.unknown, open)
	}
	if _, other := l.lost(); other > 0 && l.way == stack.RPC {
		t.Errorf("%d questions got lost, and they were not on the wire", other)
	}
}
