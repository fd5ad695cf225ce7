package command_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
)

func TestFindKnowsNamesAndAliases(t *testing.T) {
	r := registry(t, said.Polish, newSwitches(), nothing("pogoda", "weather"))
	for name, want := range map[string]string{
		"pomoc": "pomoc", "help": "pomoc", "kot": "kot", "cat": "kot", "ja": "ja", "me": "ja", "zapomnij": "zapomnij", "forget": "zapomnij",
		"obraz": "obraz", "picture": "obraz", "pogoda": "pogoda", "weather": "pogoda",
		"dopusc": "dopuść", "allow": "dopuść", "opusc": "opuść", "leave": "opuść", "ignoruj": "ignoruj", "ignore": "ignoruj",
		"sluchaj": "słuchaj", "hear": "słuchaj", "wlacz": "włącz", "on": "włącz", "wylacz": "wyłącz", "off": "wyłącz",
		"przerwa": "przerwa", "cooldown": "przerwa", "status": "status", "podsluch": "podsłuch", "debug": "podsłuch",
		"": "pomoc", // a mere mention of the bot
	} {
		if c := r.Find(name); c == nil || c.Name != want {
			t.Errorf("Find(%q) = %v, want %s", name, c, want)
		}
	}
	if c := r.Find("nieznane"); c != nil {
		t.Errorf("Find of an unknown name = %v", c)
	}
}

func TestGuessAsksBackOnlyWhenOneIsNear(t *testing.T) {
	for _, lang := range []said.Lang{said.Polish, said.English} {
		r := registry(t, lang, newSwitches())
		r.Find("kot").Limits = cooldown.Limits{User: 7}
		for typed, want := range map[string]string{"kott": "!kot", "Pomocc": "!pomoc", "zapomni": "!zapomnij", "halp": "!help"} {
			guess := r.Guess(typed, inKoty)
			if guess == nil {
				t.Errorf("no guess for %q", typed)
				continue
			}
			reply, err := guess.Run(t.Context(), inKoty)
			says(t, reply, err, lang.DidYouMean(want))
			if r.Shown(guess) != in(lang, "!pomoc", "!help") || strings.Contains(guess.Name, typed) || r.Check(guess, inKoty) != command.Allowed {
				t.Errorf("%q: a guess is called %q and shown as %q", typed, guess.Name, r.Shown(guess))
			}
		}
		if guess := r.Guess("kott", inKoty); guess.Limits.User != 7 {
			t.Errorf("a guess can be had without a cooldown: %v", guess.Limits)
		}
		if guess := r.Guess("pogoda", inKoty); guess != nil {
			t.Error("a guess although nothing is near")
		}
	}
}

func TestGuessTellsOfNothingThatTheAskerMayNotUse(t *testing.T) {
	hidden, elsewhere := nothing("tajne"), nothing("piesek")
	hidden.People = []string{ola}
	elsewhere.Groups = []string{psy}
	s := newSwitches()
	r := registry(t, said.Polish, s, hidden, elsewhere)
	s.off[at{"kot", transport.Chat{Group: koty}}] = true
	for _, tt := range []struct {
		typed string
		q     command.Request
		want  bool
	}{
		{"statuss", inKoty, false}, {"statuss", asBoss, true},
		{"tajnee", inKoty, false}, {"tajnee", asBoss, true},
		{"piesekk", inKoty, false}, {"piesekk", asBoss, false},
		{"kott", inKoty, false}, {"kott", asBoss, false}, {"kott", direct, true},
	} {
		if got := r.Guess(tt.typed, tt.q) != nil; got != tt.want {
			t.Errorf("%q, %+v: a guess: %t", tt.typed, tt.q, got)
		}
	}
}

// What one may not use must not keep the bot from guessing what one may.
func TestHiddenCommandIsNoRivalOfAGuess(t *testing.T) {
	kod := nothing("kod")
	kod.Admins = true
	r := registry(t, said.Polish, newSwitches(), kod)
	if r.Guess("kox", inKoty) == nil {
		t.Error("no guess beside a hidden command")
	}
	if r.Guess("kox", asBoss) != nil {
		t.Error("a guess although two are as near")
	}
}

func TestCommandsThatCannotBeAreRefusedAllAtOnce(t *testing.T) {
	bad := nothing("x")
	bad.Params = []asked.Param{{Name: "a", Kind: asked.Rest}, {Name: "b", Kind: asked.Word}}
	nowhere := nothing("w")
	nowhere.Where, nowhere.Groups = command.InDirect, []string{koty}
	twoLines, long := nothing("y"), nothing("z")
	twoLines.Help, long.Help = "a\nb", strings.Repeat("a", 1000)
	for name, tt := range map[string]struct {
		commands []*command.Command
		says     []string
	}{
		"two of one name":        {[]*command.Command{nothing("JA")}, []string{`command "JA"`, `"JA" is a name of the command "ja"`}},
		"an alias in the way":    {[]*command.Command{nothing("kicia", "Cat")}, []string{`command "kicia"`, `"Cat" is a name of the command "kot"`}},
		"only accents differ":    {[]*command.Command{nothing("wlacz")}, []string{`command "wlacz"`, `"włącz"`}},
		"pomoc":                  {[]*command.Command{nothing("help")}, []string{`command "help"`, `"pomoc"`}},
		"twice in itself":        {[]*command.Command{nothing("a", "a")}, []string{`"a" is a name of the command "a"`}},
		"a name with a space":    {[]*command.Command{nothing("dwa słowa")}, []string{`"dwa słowa"`}},
		"the name of a guess":    {[]*command.Command{nothing("_guess")}, []string{`"_guess"`}},
		"bad parameters":         {[]*command.Command{bad}, []string{`command "x"`, `"b"`}},
		"help of two lines":      {[]*command.Command{twoLines}, []string{`command "y"`, "line break"}},
		"help beyond all bounds": {[]*command.Command{long}, []string{`command "z"`, "1000 fit"}},
		"works nowhere":          {[]*command.Command{nowhere}, []string{`command "w"`, "nowhere"}},
		"nothing to run":         {[]*command.Command{{Name: "q"}}, []string{`command "q"`, "nothing to run"}},
		"two faults":             {[]*command.Command{bad, twoLines}, []string{`command "x"`, `command "y"`}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := command.NewRegistry(command.Options{Prefix: "!", Switches: newSwitches()}, append(builtIn(said.Polish), tt.commands...)...)
			if err == nil || r != nil {
				t.Fatal("taken")
			}
			for _, part := range tt.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %v", part, err)
				}
			}
		})
	}
}

func TestCommandsAreBounded(t *testing.T) {
	var many []*command.Command
	for n := range 300 {
		many = append(many, nothing(fmt.Sprint("c", n)))
	}
	if _, err := command.NewRegistry(command.Options{Switches: newSwitches()}, many...); err == nil || !strings.Contains(err.Error(), "at most 288") {
		t.Errorf("300 commands: %v", err)
	}
}

// Somebody who reads English is told English names; what an operator called a
// command is its name in every language.
func TestEnglishHelpHasEnglishNames(t *testing.T) {
	theirs := nothing("pies", "dog")
	theirs.Line = 7
	r := registry(t, said.English, newSwitches(), theirs)
	reply, err := r.Find("help").Run(t.Context(), inKoty)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"!cat (also !kot) –", "!forget [always/undo] (also !zapomnij) –", "!pies (also !dog)"} {
		if !strings.Contains(reply.Text, part) {
			t.Errorf("%q is not in:\n%s", part, reply.Text)
		}
	}
}

func TestUsageShowsParameters(t *testing.T) {
	r := registry(t, said.Polish, newSwitches())
	for name, want := range map[string]string{
		"przerwa": "!przerwa <polecenie> [sekundy]", "dopusc": "!dopuść [grupa]", "ignoruj": "!ignoruj <@osoba>",
		"zapomnij": "!zapomnij [zawsze/cofnij]", "podsluch": "!podsłuch <włącz/wyłącz>", "kot": "!kot",
	} {
		if got := r.Usage(r.Find(name)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A registry is swapped for another while it is in use.
func TestRegistryServesAtOnce(t *testing.T) {
	r := registry(t, said.Polish, newSwitches())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan struct{})
	for range 4 {
		go func() {
			for range 100 {
				r.Guess("kott", inKoty)
				_, _ = r.Find("pomoc").Run(ctx, asBoss)
			}
			done <- struct{}{}
		}()
	}
	for range 4 {
		<-done
	}
}
