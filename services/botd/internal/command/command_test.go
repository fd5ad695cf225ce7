package command_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/upstream"
)

func registry() *command.Registry {
	ja := command.Ja()
	kot := command.Kot(func(context.Context) (upstream.Picture, error) {
		return upstream.Picture{ContentType: "image/png", Data: []byte{1}}, nil
	})
	return command.NewRegistry("!", command.Pomoc("!", kot, ja), kot, ja)
}

func TestParse(t *testing.T) {
	r := registry()
	tests := []struct {
		text, name, args string
		ok               bool
	}{
		{"!kot", "kot", "", true},
		{"!Kot", "kot", "", true},
		{"!KOT rudy  kot ", "kot", "rudy  kot", true},
		{"! kot", "kot", "", true},
		{" \t!kot\n", "kot", "", true},
		{"\u00a0!kot\u00a0", "kot", "", true},       // no-break spaces of a phone's keyboard
		{"\u200b\ufeff!kot\u200e", "kot", "", true}, // zero-width space, BOM, direction mark
		{"!kot\nrudy", "kot", "rudy", true},         // a new line is a space too
		{"!nieznane", "nieznane", "", true},         // parsed; whether it exists is Find's to say
		{"kot", "", "", false},
		{"", "", "", false},
		{"!", "", "", false},
		{"!!!", "", "", false},
		{"!?", "", "", false},
		{"co? !kot", "", "", false},
	}
	for _, tt := range tests {
		name, args, ok := r.Parse(tt.text)
		if name != tt.name || args != tt.args || ok != tt.ok {
			t.Errorf("Parse(%q) = %q, %q, %t; want %q, %q, %t", tt.text, name, args, ok, tt.name, tt.args, tt.ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"!kot", "! kot x", "\u00a0!Kot\u200b", "!\xff", "!\u0130", "!!", ""} {
		f.Add(s)
	}
	r := registry()
	f.Fuzz(func(t *testing.T, text string) {
		name, args, ok := r.Parse(text)
		switch {
		case !ok && (name != "" || args != ""):
			t.Errorf("%q is no command and yet has name %q, args %q", text, name, args)
		case ok && name == "":
			t.Errorf("%q is a command without a name", text)
		case ok && strings.ContainsAny(name, " \t\n\u00a0"):
			t.Errorf("%q: name %q has a space in it", text, name)
		case ok && utf8.ValidString(text) && !utf8.ValidString(name+args):
			t.Errorf("%q was cut inside a character: %q, %q", text, name, args)
		}
	})
}

func TestFindKnowsOnlyItsCommands(t *testing.T) {
	r := registry()
	for _, name := range []string{"pomoc", "kot", "ja"} {
		if c := r.Find(name); c == nil || c.Name != name {
			t.Errorf("Find(%q) = %v", name, c)
		}
	}
	if c := r.Find("nieznane"); c != nil {
		t.Errorf("Find of an unknown name = %v", c)
	}
}

func TestTwoCommandsOfOneNamePanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a second command of the same name was taken")
		}
	}()
	command.NewRegistry("!", command.Ja(), command.Ja())
}

func TestPomocListsEveryCommandWithinOneMessage(t *testing.T) {
	reply, err := registry().Find("pomoc").Run(t.Context(), command.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"!pomoc", "!kot", "!ja"} {
		if !strings.Contains(reply.Text, name+" – ") {
			t.Errorf("%s is missing in:\n%s", name, reply.Text)
		}
	}
	if len(reply.Text) > 2000 {
		t.Errorf("%d bytes: Signal would upload it as a file", len(reply.Text))
	}
}

func TestJaTellsNameAndUses(t *testing.T) {
	for _, tt := range []struct {
		request command.Request
		want    string
	}{
		{command.Request{Name: "Ala", Uses: 3}, "Ala, poleceń od mojego startu: 3."},
		{command.Request{Uses: 1}, "Ktoś bez nazwy, poleceń od mojego startu: 1."},
	} {
		reply, err := command.Ja().Run(t.Context(), tt.request)
		if err != nil || reply.Text != tt.want {
			t.Errorf("%+v: %q, %v; want %q", tt.request, reply.Text, err, tt.want)
		}
	}
}

func TestKotPassesOnPictureAndError(t *testing.T) {
	down := errors.New("down")
	answers := []error{nil, down}
	kot := command.Kot(func(context.Context) (upstream.Picture, error) {
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
