package command_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/pages"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/upstream"
)

func cats(context.Context) (upstream.Picture, error) {
	return upstream.Picture{ContentType: "image/png", Data: []byte{1}}, nil
}

func registry(lang said.Lang) *command.Registry {
	kot, ja, zapomnij := command.Kot(lang, cats), command.Ja(lang, "!zapomnij"), command.Zapomnij(lang, command.NewTally())
	return command.NewRegistry(lang, "!", command.Pomoc(lang, "!", kot, ja, zapomnij), kot, ja, zapomnij)
}

func TestFindKnowsNamesAndAliases(t *testing.T) {
	r := registry(said.Polish)
	for name, want := range map[string]string{
		"pomoc": "pomoc", "help": "pomoc", "kot": "kot", "cat": "kot", "ja": "ja", "me": "ja", "zapomnij": "zapomnij", "forget": "zapomnij",
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
	r := registry(said.Polish)
	r.Find("kot").Cooldown = 7
	for typed, want := range map[string]string{"kott": "!kot", "Pomocc": "!pomoc", "zapomni": "!zapomnij", "halp": "!help"} {
		guess := r.Guess(typed)
		if guess == nil {
			t.Errorf("no guess for %q", typed)
			continue
		}
		reply, err := guess.Run(t.Context(), command.Request{})
		if err != nil || !strings.Contains(reply.Text, want+"?") {
			t.Errorf("%q: %q, %v; want %s", typed, reply.Text, err, want)
		}
		if r.Shown(guess) != "!pomoc" || strings.Contains(guess.Name, typed) {
			t.Errorf("%q: a guess is called %q and shown as %q", typed, guess.Name, r.Shown(guess))
		}
	}
	if guess := r.Guess("kott"); guess.Cooldown != 7 {
		t.Errorf("a guess can be had without a cooldown: %v", guess.Cooldown)
	}
	if guess := r.Guess("pogoda"); guess != nil {
		t.Error("a guess although nothing is near")
	}
}

func TestMistakesOfTheProgramPanic(t *testing.T) {
	ja := command.Ja(said.Polish, "!zapomnij")
	for name, commands := range map[string][]*command.Command{
		"two of one name":     {ja, {Name: "JA"}},
		"an alias in the way": {ja, {Name: "x", Aliases: []string{"me"}}},
		"a name with a space": {{Name: "dwa słowa"}},
		"bad parameters":      {{Name: "x", Params: []asked.Param{{Name: "a", Kind: asked.Rest}, {Name: "b", Kind: asked.Word}}}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("taken")
				}
			}()
			command.NewRegistry(said.Polish, "!", commands...)
		})
	}
}

func TestPomocListsEveryCommandWithinOneMessage(t *testing.T) {
	for _, lang := range []said.Lang{said.Polish, said.English} {
		for _, group := range []bool{true, false} {
			reply, err := registry(lang).Find("pomoc").Run(t.Context(), command.Request{Group: group})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"!pomoc", "!help", "!kot", "!cat", "!ja", "!me", "!zapomnij", "!forget"} {
				if !strings.Contains(reply.Text, name) {
					t.Errorf("%s is missing in:\n%s", name, reply.Text)
				}
			}
			if len(reply.Text) > pages.Limit {
				t.Errorf("%d bytes: Signal would upload it as a file", len(reply.Text))
			}
		}
	}
}

func TestJaTellsNameAndUses(t *testing.T) {
	for _, tt := range []struct {
		request command.Request
		want    string
	}{
		{command.Request{Name: "Ala", Uses: 3}, "Ala: od początku 3 polecenia. !zapomnij"},
		{command.Request{Uses: 1}, "Ktoś bez nazwy: od początku 1 polecenie. !zapomnij"},
	} {
		reply, err := command.Ja(said.Polish, "!zapomnij").Run(t.Context(), tt.request)
		if err != nil || !strings.HasPrefix(reply.Text, tt.want) {
			t.Errorf("%+v: %q, %v; want %q", tt.request, reply.Text, err, tt.want)
		}
	}
}

func TestZapomnijErasesTheAskerAlone(t *testing.T) {
	tally := command.NewTally()
	for range 3 {
		tally.Count("ala")
		tally.Count("ela")
	}
	if _, err := command.Zapomnij(said.Polish, tally).Run(t.Context(), command.Request{Sender: "ala"}); err != nil {
		t.Fatal(err)
	}
	if a, e := tally.Count("ala"), tally.Count("ela"); a != 1 || e != 4 {
		t.Errorf("then ala counts %d and ela %d, want 1 and 4", a, e)
	}
}

func TestKotPassesOnPictureAndError(t *testing.T) {
	down := errors.New("down")
	answers := []error{nil, down}
	kot := command.Kot(said.Polish, func(context.Context) (upstream.Picture, error) {
		err := answers[0]
		answers = answers[1:]
		return upstream.Picture{Data: []byte("x")}, err
	})
	if reply, err := kot.Run(t.Context(), command.Request{}); err != nil || reply.Picture == nil || string(reply.Picture.Data) != "x" {
		t.Errorf("first cat: %+v, %v", reply, err)
	}
	if reply, err := kot.Run(t.Context(), command.Request{}); !errors.Is(err, down) || reply.Picture != nil {
		t.Errorf("second cat: %+v, %v; want the error and no picture", reply, err)
	}
}
