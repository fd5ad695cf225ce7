package latency_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"quartet/sim/internal/latency"
)

func TestDrawsSpreadAroundTheMedian(t *testing.T) {
	table := latency.NewTable(1, "send")
	if err := table.ParseList("send=1s~0.2"); err != nil {
		t.Fatal(err)
	}
	draws := make([]time.Duration, 10_001)
	for i := range draws {
		draws[i] = table.Draw("send")
	}
	slices.Sort(draws)
	at := func(q float64) time.Duration { return draws[int(q*float64(len(draws)-1))] }
	for _, c := range []struct {
		q        float64
		from, to time.Duration
	}{
		{0.05, 680 * time.Millisecond, 760 * time.Millisecond}, // exp(-1.645*0.2) = 0.72
		{0.5, 980 * time.Millisecond, 1020 * time.Millisecond},
		{0.95, 1340 * time.Millisecond, 1440 * time.Millisecond}, // exp(1.645*0.2) = 1.39
	} {
		if got := at(c.q); got < c.from || got > c.to {
			t.Errorf("quantile %v is %v, want %v to %v", c.q, got, c.from, c.to)
		}
	}
}

func TestWithoutJitterEveryDrawIsTheMedian(t *testing.T) {
	table := latency.NewTable(1, "send")
	if err := table.ParseList("send=2648ms"); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if got := table.Draw("send"); got != 2648*time.Millisecond {
			t.Fatalf("drew %v", got)
		}
	}
}

func TestTheSameSeedDrawsTheSameTimes(t *testing.T) {
	a, b := latency.NewTable(7, "x"), latency.NewTable(7, "x")
	for _, table := range []*latency.Table{a, b} {
		if err := table.ParseList("x=10ms~0.5"); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		if x, y := a.Draw("x"), b.Draw("x"); x != y {
			t.Fatalf("%v and %v", x, y)
		}
	}
}

func TestNoDrawExceedsTenMedians(t *testing.T) {
	table := latency.NewTable(1, "x")
	if err := table.ParseList("x=1s~2"); err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		if got := table.Draw("x"); got > 10*time.Second {
			t.Fatalf("drew %v", got)
		}
	}
}

func TestADistributionIsReadFromEveryForm(t *testing.T) {
	want := latency.Dist{P50: 2648 * time.Millisecond, Jitter: 0.2}
	for _, text := range []string{`"2648ms~0.2"`, `"2.648s~20%"`, `{"p50":"2648ms","jitter":0.2}`, `{"p50":"2648ms","jitter":"20%"}`} {
		var d latency.Dist
		if err := json.Unmarshal([]byte(text), &d); err != nil || d != want {
			t.Errorf("%s: %v, %v", text, d, err)
		}
		back, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var again latency.Dist
		if err := json.Unmarshal(back, &again); err != nil || again != want {
			t.Errorf("%s came back as %v, %v", back, again, err)
		}
	}
}

func TestBadDistributionsAreRefused(t *testing.T) {
	for _, text := range []string{"", "5", "-1s", "2h", "1s~x", "1s~-1", "1s~3"} {
		if _, err := latency.Parse(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	table := latency.NewTable(1, "send")
	if err := table.ParseList("send=1s,other=1s"); err == nil {
		t.Error("an unknown operation was accepted")
	}
	if got := table.Draw("send"); got != 0 {
		t.Errorf("a refused list changed a value to %v", got)
	}
}

func TestWaitTakesTheTimeSinceItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := latency.NewTable(1, "send")
		if err := table.ParseList("send=1s"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.Sleep(300 * time.Millisecond)
		if err := table.Wait(t.Context(), "send", began); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := table.Wait(ctx, "send", time.Now()); err == nil {
			t.Error("an ended context did not end the wait")
		}
	})
}

func TestResetGoesBackToTheFrozenTable(t *testing.T) {
	table := latency.NewTable(1, "send")
	for _, list := range []string{"send=1s", "send=2s"} {
		if err := table.ParseList(list); err != nil {
			t.Fatal(err)
		}
		if list == "send=1s" {
			table.Freeze()
		}
	}
	table.Reset()
	if got := table.Draw("send"); got != time.Second {
		t.Errorf("drew %v", got)
	}
}
