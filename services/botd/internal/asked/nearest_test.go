package asked_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"quartet/services/botd/internal/asked"
)

var options = []asked.Option{
	{"pomoc", "pomoc"}, {"help", "pomoc"}, {"kot", "kot"}, {"koty", "kot"}, {"cat", "kot"}, {"ja", "ja"},
	{"zapomnij", "zapomnij"}, {"status", "status"}, {"włącz", "włącz"}, {"wyłącz", "wyłącz"},
}

func TestNearNamesAreFound(t *testing.T) {
	for typed, want := range map[string]string{
		"kott":      "kot", // kot and koty are as near, and one command
		"kat":       "kot", // so are kot and cat: the first one is named
		"kto":       "kot", // swapped
		"ko":        "kot", // missing
		"KÓT":       "kot", // not even a mistake
		"lot":       "kot",
		"cta":       "cat",
		"pomcoc":    "pomoc",
		"pomo":      "pomoc",
		"pmooc":     "pomoc",
		"zapomnji":  "zapomnij",
		"zapomniec": "zapomnij", // two
		"zapmne":    "",         // three
		"statsu":    "status",
		"wlocz":     "włącz",
		"wlacz":     "włącz",
		"wylcz":     "wyłącz",
		"wlyacz":    "", // włącz or wyłącz: never guess between on and off
		"jaa":       "ja",
		"j":         "", // too short to guess
		"jo":        "",
		"na":        "",
		"":          "",
		"uwaga":     "",
	} {
		got, ok := asked.Nearest(typed, options)
		if ok != (want != "") || got.Name != want {
			t.Errorf("Nearest(%q) = %q, %t; want %q", typed, got.Name, ok, want)
		}
	}
}

func TestTwoCommandsAsNearAreNoAnswer(t *testing.T) {
	two := []asked.Option{{"kot", "a"}, {"kos", "b"}, {"kosa", "b"}}
	if got, ok := asked.Nearest("kop", two); ok {
		t.Errorf("kop is %q", got.Name)
	}
	if got, ok := asked.Nearest("kosaa", two); !ok || got.Name != "kosa" {
		t.Errorf("kosaa is %q, %t", got.Name, ok)
	}
	// One that is nearer settles what was open.
	if got, ok := asked.Nearest("kop", append(two, asked.Option{Name: "kóp", Command: "c"})); !ok || got.Command != "c" {
		t.Errorf("kop is %q, %t", got.Name, ok)
	}
}

func TestAnythingFromNothingIsNoAnswer(t *testing.T) {
	if got, ok := asked.Nearest("kot", nil); ok {
		t.Errorf("%q", got.Name)
	}
	if got, ok := asked.Nearest(strings.Repeat("a", 1<<16), options); ok {
		t.Errorf("%q", got.Name)
	}
}

// slow is the distance as it is defined, without a table.
func slow(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	x, y := len(a)-1, len(b)-1
	wrong := 1
	if a[x] == b[y] {
		wrong = 0
	}
	d := min(slow(a[:x], b)+1, slow(a, b[:y])+1, slow(a[:x], b[:y])+wrong)
	if x > 0 && y > 0 && a[x] == b[y-1] && a[x-1] == b[y] {
		d = min(d, slow(a[:x-1], b[:y-1])+1)
	}
	return d
}

func TestDistanceIsAsDefined(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	word := func() []rune {
		w := make([]rune, r.IntN(7))
		for i := range w {
			w[i] = []rune("abżo")[r.IntN(4)]
		}
		return w
	}
	for range 2000 {
		a, b := word(), word()
		if got, want := asked.Distance(a, b), slow(a, b); got != want {
			t.Fatalf("distance(%q, %q) = %d, want %d", string(a), string(b), got, want)
		}
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("kott")
	f.Add("\xffZapomnji")
	f.Fuzz(func(t *testing.T, typed string) {
		got, ok := asked.Nearest(typed, options)
		if ok != (got != asked.Option{}) {
			t.Errorf("Nearest(%q) = %+v, %t", typed, got, ok)
		}
		if ok && asked.Distance([]rune(asked.Fold(typed)), []rune(asked.Fold(got.Name))) > 2 {
			t.Errorf("Nearest(%q) = %q is far", typed, got.Name)
		}
	})
}
