// Package latency plays how long an outside party takes: a constant, or a
// lognormal spread around a median, drawn from a seedable source.
//
// Guarantee: with the same seed and the same order of calls a table draws the
// same times; no lock is held while anybody waits. Half of the draws lie under
// the median, and none above maxSpread times it.
//
// It does not model load: a party that gets slower the more it is asked is not
// described by one distribution.
package latency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxSpread bounds one draw, so that no test waits for the far tail.
const maxSpread = 10

// Dist is a distribution of times. The zero value is no time at all.
type Dist struct {
	P50    time.Duration // the median, and the constant where Jitter is 0
	Jitter float64       // standard deviation of the logarithm; 0.2 is about 20 % either way
}

// Parse reads "2648ms" (constant) or "2648ms~0.2" (lognormal with jitter 0.2).
func Parse(text string) (Dist, error) {
	median, jitter, spread := strings.Cut(text, "~")
	var d Dist
	var err error
	if d.P50, err = time.ParseDuration(strings.TrimSpace(median)); err != nil {
		return Dist{}, fmt.Errorf("latency %q: %w", text, err)
	}
	if spread {
		if d.Jitter, err = parseJitter(jitter); err != nil {
			return Dist{}, fmt.Errorf("latency %q: %w", text, err)
		}
	}
	return d, d.check()
}

func parseJitter(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.ParseFloat(percent, 64)
		return p / 100, err
	}
	return strconv.ParseFloat(text, 64)
}

func (d Dist) check() error {
	if d.P50 < 0 || d.P50 > time.Hour {
		return errors.New("latency: want a median from 0 to 1h")
	}
	if !(d.Jitter >= 0 && d.Jitter <= 2) {
		return errors.New("latency: want a jitter from 0 to 2")
	}
	return nil
}

// MarshalJSON writes {"p50":"2.648s","jitter":0.2}.
func (d Dist) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		P50    string  `json:"p50"`
		Jitter float64 `json:"jitter"`
	}{d.P50.String(), d.Jitter})
}

// UnmarshalJSON reads "2648ms", "2648ms~0.2" or {"p50":"2648ms","jitter":0.2}.
func (d *Dist) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		var object struct {
			P50    string `json:"p50"`
			Jitter any    `json:"jitter"`
		}
		if err := json.Unmarshal(data, &object); err != nil {
			return fmt.Errorf("latency: want text or {p50, jitter}: %w", err)
		}
		text = object.P50
		if object.Jitter != nil {
			text += "~" + fmt.Sprint(object.Jitter)
		}
	}
	var err error
	*d, err = Parse(text)
	return err
}

// draw returns one time; normal is a standard normal deviate.
func (d Dist) draw(normal float64) time.Duration {
	if d.Jitter == 0 {
		return d.P50
	}
	return time.Duration(float64(d.P50) * min(math.Exp(d.Jitter*normal), maxSpread))
}

// Table holds one distribution a named operation.
type Table struct {
	mu      sync.Mutex
	dists   map[string]Dist // guarded by mu; the keys never change
	initial map[string]Dist // guarded by mu
	source  *rand.Rand      // guarded by mu
}

// NewTable makes a table in which every named operation takes no time.
func NewTable(seed uint64, operations ...string) *Table {
	t := &Table{dists: map[string]Dist{}, source: rand.New(rand.NewPCG(seed, 0))}
	for _, name := range operations {
		t.dists[name] = Dist{}
	}
	t.initial = maps.Clone(t.dists)
	return t
}

// Merge changes the operations named and leaves the others; an unknown name changes nothing.
func (t *Table) Merge(changes map[string]Dist) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if _, known := t.dists[name]; !known {
			known := strings.Join(slices.Sorted(maps.Keys(t.dists)), ", ")
			faults = append(faults, fmt.Errorf("unknown operation %q, want one of %s", name, known))
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	maps.Copy(t.dists, changes)
	return nil
}

// ParseList applies a command-line list, "name=DIST,name=DIST".
func (t *Table) ParseList(list string) error {
	changes := map[string]Dist{}
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, value, _ := strings.Cut(item, "=")
		d, err := Parse(value)
		if err != nil {
			return err
		}
		changes[name] = d
	}
	return t.Merge(changes)
}

// Freeze makes the present table the one that Reset goes back to.
func (t *Table) Freeze() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.initial = maps.Clone(t.dists)
}

// Reset goes back to the table at Freeze.
func (t *Table) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dists = maps.Clone(t.initial)
}

// Values returns a copy of the table.
func (t *Table) Values() map[string]Dist {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.dists)
}

// Draw returns how long the operation takes this time.
func (t *Table) Draw(operation string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, known := t.dists[operation]
	if !known {
		panic("latency: operation not defined: " + operation)
	}
	return d.draw(t.source.NormFloat64())
}

// Wait returns once the operation, begun at since, has taken its time, or with
// the cause when ctx ends first.
func (t *Table) Wait(ctx context.Context, operation string, since time.Time) error {
	return Sleep(ctx, t.Draw(operation)-time.Since(since))
}

// Sleep returns after d, or with the cause when ctx ends first or has ended.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
