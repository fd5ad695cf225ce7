package command_test

import (
	"errors"
	"testing"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/people"
	"quartet/services/botd/internal/said"
)

// What is kept about people is kept by these.
var _ command.Memory = (*people.People)(nil)

func TestJaTellsWhatIsKept(t *testing.T) {
	for _, tt := range []struct {
		request         command.Request
		polish, english string
	}{
		{command.Request{Name: "Ala", Uses: 3}, "Ala: od początku 3 polecenia. !zapomnij", "Ala: 3 commands since the beginning. !zapomnij"},
		{command.Request{Uses: 1}, "Ktoś bez nazwy: od początku 1 polecenie. !zapomnij", "Somebody without a name: 1 command since the beginning. !zapomnij"},
		{command.Request{Name: "Ala"}, "Ala: przez dobę pamiętam", "Ala: for a day I remember"},
	} {
		for _, lang := range []said.Lang{said.Polish, said.English} {
			reply, err := command.Ja(lang, "!zapomnij").Run(t.Context(), tt.request)
			says(t, reply, err, in(lang, tt.polish, tt.english))
		}
	}
}

func TestZapomnijErasesTheAskerAlone(t *testing.T) {
	for typed, want := range map[string]struct{ does, polish, english string }{
		"":       {"forget", "Gotowe, skasowane.", "Done, it is erased."},
		"zawsze": {"opt out", "Gotowe, skasowane. Odtąd", "Done, it is erased. From now on"},
		"ZAWSZE": {"opt out", "Gotowe, skasowane. Odtąd", "Done, it is erased. From now on"},
		"always": {"opt out", "Gotowe, skasowane. Odtąd", "Done, it is erased. From now on"},
		"cofnij": {"opt in", "Dobrze", "All right"},
		"undo":   {"opt in", "Dobrze", "All right"},
	} {
		for _, lang := range []said.Lang{said.Polish, said.English} {
			d := &decision{}
			zapomnij := command.Zapomnij(lang, "!", d)
			reply, err := ask(t, zapomnij, inKoty, typed)
			says(t, reply, err, in(lang, want.polish, want.english))
			if d.what != want.does || d.about != ala {
				t.Errorf("%q: %s %s", typed, d.what, d.about)
			}
			if !zapomnij.Uncounted {
				t.Error("its own use is counted")
			}
		}
	}
}

func TestOptingOutNamesTheWayBack(t *testing.T) {
	for lang, want := range map[said.Lang]string{said.Polish: "?zapomnij cofnij", said.English: "?forget undo"} {
		reply, err := ask(t, command.Zapomnij(lang, "?", &decision{}), direct, "always")
		says(t, reply, err, lang.OptedOut(want))
	}
}

func TestZapomnijErasesNothingByMistake(t *testing.T) {
	d := &decision{}
	_, err := ask(t, command.Zapomnij(said.Polish, "!", d), inKoty, "nigdy")
	if m, ok := errors.AsType[*asked.Misfit](err); !ok || m.Reason != asked.Unfit || m.Got != "nigdy" || d.what != "" {
		t.Errorf("%v, and it did %q", err, d.what)
	}
	d.err = errors.New("disk full")
	if reply, err := ask(t, command.Zapomnij(said.Polish, "!", d), inKoty, ""); !errors.Is(err, d.err) || reply.Text != "" {
		t.Errorf("claims %q, %v", reply.Text, err)
	}
}
