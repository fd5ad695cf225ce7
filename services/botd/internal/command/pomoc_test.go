package command_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/pages"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
)

// list is what pomoc answers, taken apart.
func list(t testing.TB, r *command.Registry, q command.Request) (text string, calls []string) {
	t.Helper()
	reply, err := r.Find("pomoc").Run(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(reply.Text, "\n") {
		if call, _, _ := strings.Cut(line, " "); strings.HasPrefix(call, "!") {
			calls = append(calls, call)
		}
	}
	return reply.Text, calls
}

func TestPomocListsWhatTheAskerMayUseHere(t *testing.T) {
	group, chat, mine, here, there := nothing("w-grupie"), nothing("we-dwoje"), nothing("moje"), nothing("tutaj"), nothing("gdzie-indziej")
	group.Where, chat.Where = command.InGroups, command.InDirect
	mine.People, here.Groups, there.Groups = []string{ola}, []string{koty}, []string{psy}
	asOla := inKoty
	asOla.Sender = ola
	for _, lang := range []said.Lang{said.Polish, said.English} {
		always := strings.Fields(in(lang, "!pomoc !kot !obraz !ja !zapomnij", "!help !cat !picture !me !forget"))
		admins := strings.Fields(in(lang, "!włącz !wyłącz !przerwa !dopuść !opuść !ignoruj !słuchaj !status !podsłuch",
			"!on !off !cooldown !allow !leave !ignore !hear !status !debug"))
		s := newSwitches()
		r := registry(t, lang, s, group, chat, mine, here, there)
		for _, tt := range []struct {
			name   string
			q      command.Request
			header said.Scope
			want   []string
		}{
			{"in a group", inKoty, said.InGroup, []string{"!w-grupie", "!tutaj"}},
			{"in a direct chat", direct, said.InDirect, []string{"!we-dwoje"}},
			{"to whom it was given", asOla, said.InGroup, []string{"!w-grupie", "!moje", "!tutaj"}},
			{"to an admin in a group", asBoss, said.InGroup, append([]string{"!w-grupie", "!moje", "!tutaj"}, admins...)},
			{"to an admin in a direct chat", toBoss, said.InDirect, append([]string{"!we-dwoje", "!moje"}, admins...)},
		} {
			text, calls := list(t, r, tt.q)
			if want := append(slices.Clone(always), tt.want...); !slices.Equal(calls, want) {
				t.Errorf("%s: %v, want %v", tt.name, calls, want)
			}
			if !strings.HasPrefix(text, lang.HelpHeader(tt.header)+"\n") || strings.Contains(text, "\n\n"+lang.HelpHeader(said.ForAdmins)+"\n") != tt.q.Admin {
				t.Errorf("%s: the headers are wrong in:\n%s", tt.name, text)
			}
		}
		for _, name := range []string{"kot", "pomoc", "status"} {
			s.off[at{name, transport.Chat{Group: koty}}] = true
		}
		if _, calls := list(t, r, asBoss); slices.Contains(calls, always[1]) || !slices.Contains(calls, always[0]) || !slices.Contains(calls, "!status") {
			t.Errorf("with kot switched off: %v", calls)
		}
		if _, calls := list(t, r, direct); !slices.Contains(calls, always[1]) {
			t.Error("kot is switched off elsewhere and missing here")
		}
	}
}

func TestPomocOfTheBuiltInCommandsIsOneMessage(t *testing.T) {
	for _, lang := range []said.Lang{said.Polish, said.English} {
		text, _ := list(t, registry(t, lang, newSwitches()), asBoss)
		if len(text) > pages.Limit {
			t.Errorf("%d bytes", len(text))
		}
		for _, part := range []string{"!help", "!cat", lang.About(said.Debug), "!me", "!forget"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s is missing in:\n%s", part, text)
			}
		}
	}
}

// However many commands there are and however long their lines, no line is cut.
func TestPomocIsCutBetweenLines(t *testing.T) {
	for _, lang := range []said.Lang{said.Polish, said.English} {
		for _, help := range []string{"krótko", strings.Repeat("długo 👨‍👩‍👧 ", 8), strings.Repeat("ż", 480)} {
			var many []*command.Command
			for n := range 40 {
				c := nothing(fmt.Sprint("polecenie", n), fmt.Sprint("command", n))
				c.Help = strings.TrimSpace(help)
				many = append(many, c)
			}
			text, _ := list(t, registry(t, lang, newSwitches(), many...), asBoss)
			var lines []string
			parts := pages.Split(text, pages.Limit)
			for _, part := range parts {
				if len(part) > pages.Limit {
					t.Errorf("a part has %d bytes", len(part))
				}
				lines = append(lines, strings.Split(part, "\n")...)
			}
			blank := func(line string) bool { return line == "" }
			if want := slices.DeleteFunc(strings.Split(text, "\n"), blank); !slices.Equal(slices.DeleteFunc(lines, blank), want) || len(parts) < 2 {
				t.Errorf("%d parts have other lines than the whole:\n%s", len(parts), strings.Join(parts, "\n-----\n"))
			}
		}
	}
}

func TestPomocHasItsLimits(t *testing.T) {
	r, err := command.NewRegistry(command.Options{Switches: newSwitches(), Limits: cooldown.Limits{User: 5}})
	if err != nil || r.Find("pomoc").Limits.User != 5 {
		t.Errorf("%v, %v", r.Find("pomoc").Limits, err)
	}
}

// The bot's own share is measured with pomoc.
func BenchmarkPomoc(b *testing.B) {
	var many []*command.Command
	for n := range 40 {
		many = append(many, nothing(fmt.Sprint("polecenie", n)))
	}
	r := registry(b, said.Polish, newSwitches(), many...)
	for name, q := range map[string]command.Request{"member": inKoty, "admin": asBoss} {
		b.Run(name, func(b *testing.B) {
			pomoc := r.Find("pomoc")
			b.ReportAllocs()
			for b.Loop() {
				_, _ = pomoc.Run(b.Context(), q)
			}
		})
	}
}

func BenchmarkGuess(b *testing.B) {
	r := registry(b, said.Polish, newSwitches())
	b.ReportAllocs()
	for b.Loop() {
		r.Guess("kott", inKoty)
	}
}
