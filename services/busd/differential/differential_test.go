// Package differential_test plays random sessions on dbus-daemon and on busd
// and compares what every connection receives.
//
// A session is drawn from a number alone: connections that own names, call each
// other, answer (rightly, late, twice, unasked), send signals, add and remove
// match rules, listen in, become monitors, ask the bus anything with right and
// wrong arguments, pass descriptors, send what nobody may, and leave. Each step
// is handled by the bus before the next one begins, so there is one right
// transcript. Those of the two buses must be equal, in order, but for the table
// in differences_test.go. dbus-broker plays some of them, for information.
//
//	worlds_test.go      configurations of the buses
//	session_test.go     what is drawn; driver_calls_, rules_ and spoil_test.go parts of it
//	play_test.go        a session on a bus; conn_test.go one connection
//	message_test.go     messages to and fro; value_test.go what is in them
//	transcript_test.go  what is compared
//
// QUARTET_SESSION=session/42 plays that session alone and prints it.
// QUARTET_SOAK=1 plays 20,000 in place of 200, QUARTET_SEED=n others than those
// that begin at 0.
package differential_test

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"quartet/services/busd/internal/buses"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run keeps the buses' folders where nothing else happens, which is not /tmp:
// busd watches all folders above its configuration, and when something has
// changed in one it looks again before it says that there is no service.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("/var/tmp", "differential-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("TMPDIR", dir); err != nil {
		panic(err)
	}
	return buses.Main(m)
}

const (
	sessions     = 200
	soakSessions = 20_000

	// brokerEvery is how many sessions dbus-broker leaves out for one that it
	// plays.
	brokerEvery = 5

	// tolerated is how many sessions may differ before no more are played.
	tolerated = 5
)

func TestASessionIsTheSameOnDBusDaemon(t *testing.T) {
	count, first := sessions, uint64(0)
	if os.Getenv("QUARTET_SOAK") != "" {
		count = soakSessions
	}
	if text := os.Getenv("QUARTET_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("QUARTET_SEED: %v", err)
		}
		first = seed
	}
	name, seed, single := strings.Cut(os.Getenv("QUARTET_SESSION"), "/")
	if single {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			t.Fatalf("QUARTET_SESSION: %v", err)
		}
		first = n
	}
	var pairs []*pair // all before the first session: see run
	for _, w := range worlds {
		if !single || name == w.name {
			p := newPair(t, w)
			p.loud = single
			pairs = append(pairs, p)
		}
	}
	for _, p := range pairs {
		t.Run(p.world.name, func(t *testing.T) {
			t.Parallel()
			if p.loud {
				p.run(t, first, 1)
				return
			}
			p.run(t, first, count*p.world.share/100)
		})
	}
	if len(pairs) == 0 {
		t.Fatalf("QUARTET_SESSION: there is no world %q", name)
	}
}

// A pair is two buses with one configuration, and dbus-broker where that can
// have it.
type pair struct {
	world                world
	daemon, busd, broker *stage
	loud                 bool // everything is printed
	used                 map[string]int
	played, unlike       int // by dbus-broker, and not as by dbus-daemon
}

func newPair(t *testing.T, w world) *pair {
	p := &pair{world: w, used: map[string]int{}}
	p.daemon = stageFor(t, buses.Daemon, buses.Options{Config: w.config})
	// Its log is beside its configuration, see run.
	p.busd = stageFor(t, buses.Busd, buses.Options{Config: w.config, Env: []string{"BUSD_LOG_LEVEL=ERROR"}})
	if w.name == "session" {
		b, err := buses.Start(buses.Broker, buses.Options{})
		if errors.Is(err, buses.ErrMissing) {
			return p // it only informs
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Stop() }) // whatever became of it
		if p.broker, err = newStage(b); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func stageFor(t *testing.T, kind buses.Kind, o buses.Options) *stage {
	b := buses.ForTest(t, kind, o)
	s, err := newStage(b)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	t.Cleanup(s.control.close)
	return s
}

func (p *pair) run(t *testing.T, first uint64, count int) {
	failed := 0
	for seed := first; seed < first+uint64(count) && failed < tolerated; seed++ {
		if !p.session(t, seed) {
			failed++
		}
	}
	t.Logf("differences met: %v", p.used)
	if p.played > 0 {
		t.Logf("for information: dbus-broker differs from dbus-daemon in %d of %d sessions", p.unlike, p.played)
	}
}

// session plays one session on all buses and says whether it went the same.
func (p *pair) session(t *testing.T, seed uint64) bool {
	steps := draw(p.world, seed)
	got, errs := p.perform(steps)
	for again := 0; errors.Is(errors.Join(errs[:]...), errLate); again++ {
		if again == 10 {
			t.Logf("session %s/%d is not played: %v", p.world.name, seed, errLate)
			return true
		}
		got, errs = p.perform(steps)
	}
	if errs[0] != nil { // then nothing can be said
		t.Fatalf("session %s/%d on dbus-daemon: %v", p.world.name, seed, errs[0])
	}
	if errs[1] != nil {
		t.Fatalf("session %s/%d on busd: %v\n%s", p.world.name, seed, errs[1], p.busd.bus.Log())
	}
	if p.loud {
		p.print(t, steps, got)
	}
	want := apply(buses.Daemon, got[0], p.used)
	diff := compare("dbus-daemon", "busd", want, apply(buses.Busd, got[1], p.used))
	if diff != "" {
		if p.loud {
			t.Logf("busd's log:\n%s", p.busd.bus.Log())
		}
		t.Errorf("session %s/%d: %s\nagain, and whole: QUARTET_SESSION=%[1]s/%[2]d go test -run SameOnDBusDaemon ./differential", p.world.name, seed, diff)
	}
	p.inform(seed, steps, want)
	return diff == ""
}

// perform plays a session on dbus-daemon and busd at the same time.
func (p *pair) perform(steps []step) (got [2]transcript, errs [2]error) {
	var all sync.WaitGroup
	for i, s := range []*stage{p.daemon, p.busd} {
		all.Go(func() { got[i], errs[i] = s.perform(steps, p.world.sleeps) })
	}
	all.Wait()
	return got, errs
}

// inform plays a session on dbus-broker as well, but for those in which the
// configuration is read anew: its launcher does that, and there is none.
func (p *pair) inform(seed uint64, steps []step, want transcript) {
	if p.broker == nil || seed%brokerEvery != 0 || slices.ContainsFunc(steps, step.reloads) {
		return
	}
	p.played++
	got, err := p.broker.perform(steps, false)
	if err != nil || compare("", "", want, apply(buses.Broker, got, p.used)) != "" {
		p.unlike++
	}
	if err != nil { // it may have lost track of what is whose
		p.broker = nil
	}
}

func (p *pair) print(t *testing.T, steps []step, got [2]transcript) {
	for i, s := range steps {
		t.Logf("step %2d: %v", i, s)
	}
	for i, name := range []string{"dbus-daemon", "busd"} {
		for who, events := range got[i] {
			for _, line := range lines(events) {
				t.Logf("%12s <%d> %s", name, who, line)
			}
		}
	}
}
