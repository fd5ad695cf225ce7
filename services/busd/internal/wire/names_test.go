package wire_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"quartet/services/busd/internal/wire"
)

// rules are the validators of names beside what the naive codec says.
var rules = []struct {
	name         string
	valid, naive func(string) bool
}{
	{"path", wire.ValidPath, naivePath},
	{"interface", wire.ValidInterface, func(s string) bool { return named(interfacePattern, s) }},
	{"error name", wire.ValidErrorName, func(s string) bool { return named(interfacePattern, s) }},
	{"member", wire.ValidMember, func(s string) bool { return named(memberPattern, s) }},
	{"bus name", wire.ValidBusName, naiveBusName},
	{"well-known name", wire.ValidWellKnown, func(s string) bool { return named(wellKnownPattern, s) }},
	{"namespace", wire.ValidNamespace, func(s string) bool { return named(namespacePattern, s) }},
}

func checkNames(t testing.TB, s string) {
	t.Helper()
	for _, r := range rules {
		if got, want := r.valid(s), r.naive(s); got != want {
			t.Errorf("%s %q: valid is %v, want %v", r.name, s, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, s := range []string{
		"", ".", "a", "a.", ".a", "a.b", "a..b", "a.b.", "1.b", "a.1", "_._", "-.-", "a-b.c", ":1.1", ":", ":a", ":.a", ":a.", ":a..b",
		":1.1:2", "a:b.c", "/", "//", "/a", "/a/", "/a//b", "a/b", "com.example.Name", "com.example.Name-2", "org.7zip.X", "org._7zip.X",
		"com.example.Name.", "com.example..Name", "Poke", "Poke2", "2Poke", "Po ke", "Poke\n", "Poke\x00", "Pöke", "a.b\x00", "\x80.a",
	} {
		checkNames(t, s)
	}
}

func TestNamesHaveAtMost255Bytes(t *testing.T) {
	for n := 250; n < 260; n++ {
		checkNames(t, strings.Repeat("a", n))
		checkNames(t, "a."+strings.Repeat("b", n-2))
		checkNames(t, ":1."+strings.Repeat("2", n-3))
	}
}

// Each byte at each place of names of every small length, so that each lies
// anywhere in the words that are checked at once.
func TestEveryByteAtEveryPlaceOfANameIsJudged(t *testing.T) {
	for _, base := range []string{"com.example.Name.ab_c2", ":1.2345678.90-12.x_Y", "/com/example/Thing_1/a", "MemberOfALongNameIndeed"} {
		for _, n := range []int{1, 2, 3, 7, 8, 9, 15, 16, 17, len(base)} {
			b := []byte(base[:n])
			for i := range b {
				old := b[i]
				for c := range 256 {
					b[i] = byte(c)
					checkNames(t, string(b))
				}
				b[i] = old
			}
		}
	}
}

func TestRandomNames(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200000 {
		b := make([]byte, r.IntN(30))
		for i := range b {
			b[i] = "aZ_09.../::-"[r.IntN(12)]
		}
		checkNames(t, string(b))
	}
}
