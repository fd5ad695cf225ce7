package command_test

import (
	"errors"
	"strings"
	"testing"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/said"
)

func TestPeopleAreIgnoredAndHeardAgain(t *testing.T) {
	other := "00000000-0000-4000-8000-0000000000b1"
	admin := func(m asked.Mention) bool { return m.UUID == boss || m.UUID == other || m.Number == "+15550100001" }
	for _, lang := range []said.Lang{said.Polish, said.English} {
		for _, tt := range []struct {
			name, typed  string
			people       []asked.Mention
			ignored      string
			ignore, hear string
		}{
			{name: "by mention", people: []asked.Mention{{UUID: ala}}, ignored: ala, ignore: lang.PersonIgnored(), hear: lang.PersonHeard()},
			{name: "by uuid", typed: strings.ToUpper(ala), ignored: ala, ignore: lang.PersonIgnored(), hear: lang.PersonHeard()},
			{name: "oneself", people: []asked.Mention{{UUID: boss}}, ignore: lang.AdminsHeard(), hear: lang.PersonHeard()},
			{name: "another admin", typed: other, ignore: lang.AdminsHeard(), hear: lang.PersonHeard()},
			{name: "an admin by number", people: []asked.Mention{{Number: "+15550100001"}}, ignore: lang.AdminsHeard(), hear: lang.NoUUID()},
			{name: "by number alone", people: []asked.Mention{{Number: "+15550100002"}}, ignore: lang.NoUUID(), hear: lang.NoUUID()},
		} {
			t.Run(tt.name, func(t *testing.T) {
				d := &decision{}
				reply, err := ask(t, command.Ignoruj(lang, admin, d.take("ignore")), asBoss, tt.typed, tt.people...)
				says(t, reply, err, tt.ignore)
				if d.about != tt.ignored {
					t.Errorf("%q is ignored, want %q", d.about, tt.ignored)
				}
				*d = decision{}
				reply, err = ask(t, command.Sluchaj(lang, d.take("hear")), toBoss, tt.typed, tt.people...)
				says(t, reply, err, tt.hear)
				if (d.what == "hear") != (tt.hear == lang.PersonHeard()) {
					t.Errorf("it did %q", d.what)
				}
			})
		}
	}
}

// Even a list of admins that was changed meanwhile does not let one lock
// themselves out.
func TestNobodyIgnoresThemselves(t *testing.T) {
	d := &decision{}
	reply, err := ask(t, command.Ignoruj(said.Polish, func(asked.Mention) bool { return false }, d.take("ignore")), toBoss, boss)
	says(t, reply, err, said.Polish.AdminsHeard())
	if d.what != "" {
		t.Error("ignored")
	}
}

func TestNobodyIsIgnoredByName(t *testing.T) {
	d := &decision{}
	_, err := ask(t, command.Ignoruj(said.Polish, func(asked.Mention) bool { return false }, d.take("ignore")), toBoss, "Ala")
	if m, ok := errors.AsType[*asked.Misfit](err); !ok || m.Reason != asked.NotPerson || m.Got != "Ala" || d.what != "" {
		t.Errorf("%v, and it did %q", err, d.what)
	}
}
