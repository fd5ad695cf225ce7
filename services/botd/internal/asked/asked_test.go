package asked_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"quartet/services/botd/internal/asked"
)

const (
	botUUID = "00000000-0000-4000-8000-0000000000b0"
	ala     = "00000000-0000-4000-8000-00000000000a"
	ola     = "00000000-0000-4000-8000-00000000000c"
)

func reader(t testing.TB, prefixes ...string) *asked.Reader {
	t.Helper()
	if len(prefixes) == 0 {
		prefixes = []string{"!"}
	}
	r, err := asked.NewReader(prefixes, asked.Self{UUID: botUUID, Number: "+15550100000"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// at is a mention of uuid on one placeholder.
func at(start int, uuid string) asked.Mention {
	return asked.Mention{Start: start, Length: 1, UUID: uuid}
}

func TestReadFindsNameAndText(t *testing.T) {
	tests := []struct {
		text, name, typed, rest string
		ok                      bool
	}{
		{"!kot", "kot", "kot", "", true},
		{"!Kot", "kot", "Kot", "", true},
		{"!KOT rudy  kot ", "kot", "KOT", "rudy  kot", true},
		{"! kot", "kot", "kot", "", true},
		{" \t!kot\n", "kot", "kot", "", true},
		{"\u00a0!\u202fkot\u00a0", "kot", "kot", "", true},       // no-break spaces of a phone's keyboard
		{"\u200b\ufeff!kot\u200e", "kot", "kot", "", true},       // zero-width space, BOM, direction mark
		{"\u2067!kot rudy\u2069", "kot", "kot", "rudy", true},    // a text in direction isolates
		{"!k\u200dot", "kot", "k\u200dot", "", true},             // a joiner inside
		{"!\ufe0fkot", "kot", "kot", "", true},                   // the emoji form of the sign
		{"!kot\nrudy\n  kot", "kot", "kot", "rudy\n  kot", true}, // a new line is a space too
		{"!kot\u00a0rudy", "kot", "kot", "rudy", true},           // and so is a no-break one
		{"!kot, proszę", "kot", "kot", "proszę", true},           // people write sentences
		{"!kot!!!", "kot", "kot", "", true},
		{"!kot.", "kot", "kot", "", true}, // a keyboard's full stop
		{"!kot🐱", "kot", "kot", "", true},
		{"!włącz kot", "wlacz", "włącz", "kot", true},       // Polish letters
		{"!WŁA\u0328CZ kot", "wlacz", "WŁĄCZ", "kot", true}, // decomposed, as macOS writes
		{"!wlacz kot", "wlacz", "wlacz", "kot", true},       // and without
		{"!Żółć", "zolc", "Żółć", "", true},
		{"!tekst o\u0301sma", "tekst", "tekst", "ósma", true}, // arguments are composed
		{"!tekst 👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿", "tekst", "tekst", "👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿", true}, // emojis stay whole
		{"!a-b_c", "a-b_c", "a-b_c", "", true},
		{"!8ball", "8ball", "8ball", "", true},
		{"!nieznane", "nieznane", "nieznane", "", true}, // whether it exists is not the reader's to say
		{"\ufffc !kot", "kot", "kot", "", true},         // a placeholder that nobody claims shows nothing
		{"!kot\ufffcx", "kot", "kot", "x", true},
		{"!" + strings.Repeat("a", 128), strings.Repeat("a", 128), strings.Repeat("a", 128), "", true},
		{"!" + strings.Repeat("a", 129), "", "", "", false},
		{"kot", "", "", "", false},
		{"", "", "", "", false},
		{"!", "", "", "", false},
		{"! ", "", "", "", false},
		{"!!!", "", "", "", false},
		{"!?", "", "", "", false},
		{"!!kot", "", "", "", false},
		{"!🐱", "", "", "", false},
		{"!-kot", "", "", "", false},
		{"co? !kot", "", "", "", false},
	}
	r := reader(t)
	for _, tt := range tests {
		c, ok := r.Read(tt.text, nil)
		if ok != tt.ok || c.Name != tt.name || c.Typed != tt.typed || c.Text != tt.rest || c.Mentioned || len(c.Mentions) > 0 {
			t.Errorf("Read(%q) = %+v, %t; want %q, %q, %q, %t", tt.text, c, ok, tt.name, tt.typed, tt.rest, tt.ok)
		}
	}
}

func TestMentionsMayStandAroundACommand(t *testing.T) {
	type call struct {
		name, text string
		mentioned  bool
		people     []string
	}
	tests := []struct {
		name     string
		text     string
		mentions []asked.Mention
		want     *call // nil when it calls nobody
	}{
		{"before the command", "\ufffc !kot", []asked.Mention{at(0, ala)}, &call{name: "kot", people: []string{ala}}},
		{"behind it", "!kto \ufffc", []asked.Mention{at(5, ala)}, &call{name: "kto", people: []string{ala}}},
		{"right behind it", "!kto\ufffc", []asked.Mention{at(4, ala)}, &call{name: "kto", people: []string{ala}}},
		{"between prefix and name", "!\ufffckto", []asked.Mention{at(1, ala)}, &call{name: "kto", people: []string{ala}}},
		{"behind an emoji, counted in UTF-16", "!kto 👨‍👩‍👧 \ufffc", []asked.Mention{at(14, ala)}, &call{name: "kto", text: "👨‍👩‍👧", people: []string{ala}}},
		{"in the text's order, not the wire's", "!kto \ufffc \ufffc", []asked.Mention{at(7, ola), at(5, ala)}, &call{name: "kto", people: []string{ala, ola}}},
		{"inside a text", "!tekst a \ufffc b", []asked.Mention{at(9, ala)}, &call{name: "tekst", text: "a b", people: []string{ala}}},
		{"between two words", "!tekst a\ufffcb", []asked.Mention{at(8, ala)}, &call{name: "tekst", text: "a b", people: []string{ala}}},
		{"several in a row", "!tekst a \ufffc\ufffc \ufffc", []asked.Mention{at(9, ala), at(10, ola), at(12, ala)}, &call{name: "tekst", text: "a", people: []string{ala, ola, ala}}},
		{"on letters instead of a placeholder", "!kto XX dalej", []asked.Mention{{Start: 5, Length: 2, UUID: ala}}, &call{name: "kto", text: "dalej", people: []string{ala}}},
		{"of nobody known", "!kto \ufffc", []asked.Mention{{Start: 5, Length: 1}}, &call{name: "kto", people: []string{""}}},

		{"the bot itself is a trigger", "\ufffc kot rudy", []asked.Mention{at(0, botUUID)}, &call{name: "kot", text: "rudy", mentioned: true}},
		{"by upper-case uuid", "\ufffc kot", []asked.Mention{at(0, strings.ToUpper(botUUID))}, &call{name: "kot", mentioned: true}},
		{"by number", "\ufffc kot", []asked.Mention{{Length: 1, Number: "+15550100000"}}, &call{name: "kot", mentioned: true}},
		{"with a comma", "\ufffc, kot", []asked.Mention{at(0, botUUID)}, &call{name: "kot", mentioned: true}},
		{"and with the prefix", "\ufffc: !kot", []asked.Mention{at(0, botUUID)}, &call{name: "kot", mentioned: true}},
		{"behind the prefix", "!\ufffc kot", []asked.Mention{at(1, botUUID)}, &call{name: "kot", mentioned: true}},
		{"after somebody else", "\ufffc \ufffc kto", []asked.Mention{at(0, ala), at(2, botUUID)}, &call{name: "kto", mentioned: true, people: []string{ala}}},
		{"alone", "\ufffc ", []asked.Mention{at(0, botUUID)}, &call{mentioned: true}},
		{"with an exclamation", "\ufffc !!!", []asked.Mention{at(0, botUUID)}, nil},
		{"with a bare prefix", "\ufffc !", []asked.Mention{at(0, botUUID)}, nil},
		{"as an argument it stays one", "!kto \ufffc", []asked.Mention{at(5, botUUID)}, &call{name: "kto", people: []string{botUUID}}},
		{"at the end of a sentence it is none", "kot \ufffc", []asked.Mention{at(4, botUUID)}, nil},
		{"somebody else is none", "\ufffc kot", []asked.Mention{at(0, ala)}, nil},

		{"a span outside the text is ignored", "!kto x", []asked.Mention{at(6, ala), at(99, ala), {Start: 5, Length: 2, UUID: ala}}, &call{name: "kto", text: "x"}},
		{"negative spans are ignored", "!kto x", []asked.Mention{at(-1, ala), {Start: 5, Length: -1, UUID: ala}, {Start: 5, UUID: ala}}, &call{name: "kto", text: "x"}},
		{"huge spans are ignored", "!kto x", []asked.Mention{at(1<<62, ala), {Start: 1, Length: 1 << 62, UUID: ala}}, &call{name: "kto", text: "x"}},
		{"half a surrogate pair is ignored", "!kto 😀 \ufffc", []asked.Mention{at(5, ala), at(6, ala), at(8, ola)}, &call{name: "kto", text: "😀", people: []string{ola}}},
		{"of two that overlap the first counts", "!kto XX", []asked.Mention{{Start: 5, Length: 2, UUID: ala}, {Start: 6, Length: 1, UUID: ola}}, &call{name: "kto", people: []string{ala}}},
		{"a prefix that is mentioned away is none", "!kto", []asked.Mention{at(0, ala)}, nil},
	}
	r := reader(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, ok := r.Read(tt.text, tt.mentions)
			if !ok || tt.want == nil {
				if ok != (tt.want != nil) {
					t.Fatalf("Read(%q) = %+v, %t", tt.text, c, ok)
				}
				return
			}
			var people []string
			for _, m := range c.Mentions {
				people = append(people, m.UUID)
			}
			if c.Name != tt.want.name || c.Text != tt.want.text || c.Mentioned != tt.want.mentioned || !slices.Equal(people, tt.want.people) {
				t.Errorf("Read(%q) = %+v; want %+v", tt.text, c, *tt.want)
			}
		})
	}
}

func TestOnlyTheFirstMentionsAreLookedAt(t *testing.T) {
	var mentions []asked.Mention
	for i := range 1000 {
		mentions = append(mentions, at(5+i, ala))
	}
	c, ok := reader(t).Read("!kto "+strings.Repeat("\ufffc", 1000), mentions)
	if !ok || len(c.Mentions) != 64 || c.Text != "" {
		t.Errorf("%d mentions, text %q, %t", len(c.Mentions), c.Text, ok)
	}
}

func TestTheLongestPrefixWins(t *testing.T) {
	r := reader(t, "!", "!!", "Bot:")
	for text, want := range map[string]string{"!kot": "kot", "!!kot": "kot", "bot: kot": "kot", "BOT:KOT": "kot", "!!!kot": "", "bot kot": "", ".kot": ""} {
		if c, _ := r.Read(text, nil); c.Name != want {
			t.Errorf("Read(%q) found %q, want %q", text, c.Name, want)
		}
	}
}

func TestABotThatDoesNotKnowItselfIsNeverMentioned(t *testing.T) {
	r, err := asked.NewReader([]string{"!"}, asked.Self{})
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := r.Read("\ufffc kot", []asked.Mention{{Length: 1}}); ok {
		t.Errorf("a mention of nobody called %q", c.Name)
	}
}

func TestPrefixesThatCannotWorkAreRefused(t *testing.T) {
	for _, bad := range [][]string{nil, {""}, {"! "}, {"a b!"}, {"bot"}, {"!1"}, {"\xff"}, {"\u200b!"}, {"!", "bot"}} {
		if _, err := asked.NewReader(bad, asked.Self{}); err == nil {
			t.Errorf("prefixes %q were taken", bad)
		}
	}
	_, err := asked.NewReader([]string{"bot", "!", "kot"}, asked.Self{})
	if err == nil || !strings.Contains(err.Error(), `"bot"`) || !strings.Contains(err.Error(), `"kot"`) {
		t.Errorf("the error does not name both prefixes: %v", err)
	}
}

func TestTriageAllocatesNothing(t *testing.T) {
	r := reader(t)
	mentions := []asked.Mention{at(0, ala), at(1, botUUID)}
	for _, text := range []string{"!kot", "jutro o ósmej?", "\u200b\u00a0! Żółw", "\ufffc\ufffc, kot"} {
		if n := testing.AllocsPerRun(100, func() { r.Addressed(text, mentions) }); n != 0 {
			t.Errorf("Addressed(%q) allocates %v times", text, n)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"!kot", "! kot x", "\u00a0!Kot\u200b", "!\xff", "!\u0130", "!!", "", "\ufffc, kot", "!k\ufffct 😀\ufffc", "\ufffc!\u037a x"} {
		f.Add(s, 0, 1, 4, 1)
	}
	f.Add("!kto 😀 \ufffc", 6, 1, 8, 1)
	f.Add("😀😀", -1, 1<<62, 1<<62, 1<<62)
	r := reader(f)
	f.Fuzz(func(t *testing.T, text string, start1, length1, start2, length2 int) {
		mentions := []asked.Mention{{Start: start1, Length: length1, UUID: botUUID}, {Start: start2, Length: length2, UUID: ala}}
		c, ok := r.Read(text, mentions)
		if r.Addressed(text, mentions) != ok {
			t.Fatalf("Read(%q) says %t, Addressed the contrary", text, ok)
		}
		switch {
		case !ok && (c.Name != "" || c.Text != "" || c.Mentions != nil):
			t.Errorf("%q calls nobody and yet has %+v", text, c)
		case ok && c.Name == "" && (!c.Mentioned || c.Text != "" || c.Typed != ""):
			t.Errorf("%q is a command without a name: %+v", text, c)
		case strings.IndexFunc(c.Name, unicode.IsSpace) >= 0:
			t.Errorf("%q: name %q has a space in it", text, c.Name)
		case asked.Fold(c.Name) != c.Name || asked.Fold(c.Typed) != c.Name:
			t.Errorf("%q: name %q is not folded from %q", text, c.Name, c.Typed)
		case utf8.ValidString(text) && !utf8.ValidString(c.Typed+c.Text):
			t.Errorf("%q was cut inside a character: %q, %q", text, c.Typed, c.Text)
		case !norm.NFC.IsNormalString(c.Text) || strings.TrimSpace(c.Text) != c.Text:
			t.Errorf("%q: text %q is not composed and trimmed", text, c.Text)
		}
	})
}
