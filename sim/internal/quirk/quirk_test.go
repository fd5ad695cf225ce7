package quirk_test

import (
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quartet/sim/internal/quirk"
)

func newSet() *quirk.Set {
	return quirk.New(
		quirk.Def{Name: "drop", Kind: quirk.Switch, Default: true},
		quirk.Def{Name: "fail", Kind: quirk.Count},
		quirk.Def{Name: "limit", Kind: quirk.Number, Default: int64(512)},
		quirk.Def{Name: "ping", Kind: quirk.Duration, Default: 54 * time.Second},
		quirk.Def{Name: "shape", Kind: quirk.Text, Default: "object", Choices: []string{"object", "array"}},
		quirk.Def{Name: "rates", Kind: quirk.Rates, Choices: []string{"a", "b"}},
		quirk.Def{Name: "late", Kind: quirk.Duration, StartOnly: true},
		quirk.Def{Name: "silent", Kind: quirk.Fixed},
	)
}

func TestACountFiresExactlyAsOftenAsSet(t *testing.T) {
	s := newSet()
	if err := s.ParseList("fail=100"); err != nil {
		t.Fatal(err)
	}
	var fired atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if s.Take("fail") {
					fired.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got := fired.Load(); got != 100 {
		t.Errorf("fired %d times, want 100", got)
	}
}

func TestANameAloneTurnsAQuirkOnForGood(t *testing.T) {
	s := newSet()
	if err := s.ParseList(" fail , drop"); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if !s.Take("fail") {
			t.Fatal("a count without a number ran out")
		}
	}
	if !s.On("drop") {
		t.Error("drop is off")
	}
}

func TestEveryKindIsReadFromTheListAndFromJSON(t *testing.T) {
	for _, how := range []string{"list", "json"} {
		t.Run(how, func(t *testing.T) {
			s := newSet()
			var err error
			if how == "list" {
				err = s.ParseList("drop=false,fail=2,limit=9,ping=5s,shape=array,rates=a:0.25;b:0.5")
			} else {
				err = s.Merge(object(t, `{"drop":false,"fail":2,"limit":9,"ping":5,"shape":"array","rates":{"a":0.25,"b":0.5}}`))
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.On("drop") || s.Number("fail") != 2 || s.Number("limit") != 9 || s.Duration("ping") != 5*time.Second ||
				s.Text("shape") != "array" || s.Rates("rates")["a"] != 0.25 || s.Rates("rates")["b"] != 0.5 {
				t.Errorf("values are %v", s.Values())
			}
		})
	}
}

func TestAFaultyListChangesNothingAndNamesEveryFault(t *testing.T) {
	s := newSet()
	err := s.Merge(object(t, `{"limit":7,"nope":1,"shape":"round","rates":{"c":0.1},"fail":-2,"silent":false,"ping":"-1s"}`))
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"nope", "shape", "rates", "fail", "silent", "ping"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
	if s.Number("limit") != 512 {
		t.Error("a refused list changed a value")
	}
}

func TestProbabilitiesStayWithinOne(t *testing.T) {
	for _, list := range []string{"rates=a:0.6;b:0.6", "rates=a:1.5", "rates=a:-0.1", "rates=a:NaN", "rates=a"} {
		if err := newSet().ParseList(list); err == nil {
			t.Errorf("%s was accepted", list)
		}
	}
}

func TestStartOnlyQuirksAreRefusedLater(t *testing.T) {
	s := newSet()
	if err := s.ParseList("late=1s"); err != nil {
		t.Fatal(err)
	}
	s.Freeze()
	if err := s.ParseList("late=2s"); err == nil {
		t.Error("accepted after the start")
	}
}

func TestResetGoesBackToTheCommandLine(t *testing.T) {
	s := newSet()
	if err := s.ParseList("limit=1,fail=3"); err != nil {
		t.Fatal(err)
	}
	s.Freeze()
	s.Take("fail")
	if err := s.ParseList("limit=2,drop=false"); err != nil {
		t.Fatal(err)
	}
	s.Reset()
	if s.Number("limit") != 1 || s.Number("fail") != 3 || !s.On("drop") {
		t.Errorf("values are %v", s.Values())
	}
}

func TestEveryQuirkIsDescribed(t *testing.T) {
	for i, d := range newSet().Describe() {
		if d.Name == "" || d.Kind == "" || d.Value == nil {
			t.Errorf("description %d is %+v", i, d)
		}
	}
}

func object(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}
