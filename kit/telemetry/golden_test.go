package telemetry_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"quartet/kit/budget"
	"quartet/kit/lockmap"
	"quartet/kit/pool"
	"quartet/kit/telemetry"
	"quartet/kit/timing"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// TestTheExpositionStaysAsItIs uses every instrument and holds the scraped
// names, types, labels and buckets to the golden file: dashboards and alerts are
// written in these, and the exporter's translation has changed before.
func TestTheExpositionStaysAsItIs(t *testing.T) {
	tel := start(t, telemetry.Options{})
	useEverything(t.Context(), tel.Instruments)
	_, text := get(t, tel, "/metrics", "")

	const file = "testdata/exposition.golden"
	got := exposition(t, text)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if that is meant, run with -update and read the diff. Now it is:\n%s", file, got)
	}
}

type cacheStats struct{}

func (cacheStats) Stats() pool.CacheStats { return pool.CacheStats{Name: "pictures"} }

// useEverything has every instrument record something.
func useEverything(ctx context.Context, in *timing.Instruments) {
	request(ctx, in)
	var r timing.Record
	r.Begin(ctx, in.Operation("cat"), 0)
	r.End(timing.InternalError, errors.New("broken"))
	in.ObserveBudget(budget.New("slots", 1, budget.Options{}))
	in.BudgetWait("slots")(ctx, time.Second)
	in.ObserveLock(lockmap.New[string]("sender", lockmap.Options{}))
	in.LockWait("sender")(time.Second)
	in.LockHold("sender")(time.Second)
	in.ObservePool(pool.New("thecatapi", pool.Options{}))
	_, done := in.Peer("thecatapi").StartUpstream(ctx, "search")
	done(pool.Call{DNS: 1, Connect: 1, TLS: 1, Status: http.StatusOK})
	in.ObserveCache(cacheStats{})
}

// exposition prints what a scrape of our own metrics says, but for the values.
func exposition(t *testing.T, text string) string {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if !strings.HasPrefix(name, "quartet_") {
			continue
		}
		family := families[name]
		fmt.Fprintf(&b, "%s %s\n", name, strings.ToLower(family.GetType().String()))
		seen := map[string]bool{}
		for _, m := range family.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName())
			}
			slices.Sort(labels)
			seen[strings.Join(labels, " ")] = true
		}
		for _, set := range slices.Sorted(maps.Keys(seen)) {
			fmt.Fprintf(&b, "  labels %s\n", set)
		}
		if h := family.Metric[0].Histogram; h != nil {
			fmt.Fprintf(&b, "  le %s\n", bounds(h))
		}
	}
	return b.String()
}

func bounds(h *dto.Histogram) string {
	var les []string
	for _, bucket := range h.Bucket {
		les = append(les, fmt.Sprint(bucket.GetUpperBound()))
	}
	return strings.Join(les, " ")
}
