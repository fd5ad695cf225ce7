package command_test

import (
	"testing"

	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
)

func TestWhoMayUseACommandWhere(t *testing.T) {
	inPsy := inKoty
	inPsy.Chat.Group = psy
	for _, tt := range []struct {
		name                        string
		command                     command.Command
		inKoty, inPsy, direct       command.Verdict
		adminInKoty, adminInADirect command.Verdict
	}{
		{name: "anybody"},
		{name: "admins", command: command.Command{Admins: true}, inKoty: command.NotYours, inPsy: command.NotYours, direct: command.NotYours},
		{name: "these people", command: command.Command{People: []string{ola, ala}}},
		{name: "other people", command: command.Command{People: []string{ola}}, inKoty: command.NotYours, inPsy: command.NotYours, direct: command.NotYours},
		{name: "in groups", command: command.Command{Where: command.InGroups}, direct: command.GroupsOnly, adminInADirect: command.GroupsOnly},
		{name: "in direct chats", command: command.Command{Where: command.InDirect}, inKoty: command.DirectOnly, inPsy: command.DirectOnly, adminInKoty: command.DirectOnly},
		{name: "in this group", command: command.Command{Groups: []string{short, koty}}, inPsy: command.Elsewhere, direct: command.GroupsOnly, adminInADirect: command.GroupsOnly},
		{name: "in another group", command: command.Command{Groups: []string{short}}, inKoty: command.Elsewhere, inPsy: command.Elsewhere,
			direct: command.GroupsOnly, adminInKoty: command.Elsewhere, adminInADirect: command.GroupsOnly},
		{name: "who may not is not told where", command: command.Command{Admins: true, Where: command.InDirect}, inKoty: command.NotYours,
			inPsy: command.NotYours, direct: command.NotYours, adminInKoty: command.DirectOnly},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, use := range []struct {
				where   string
				request command.Request
				want    command.Verdict
			}{{"a group", inKoty, tt.inKoty}, {"another group", inPsy, tt.inPsy}, {"a direct chat", direct, tt.direct},
				{"a group, by an admin", asBoss, tt.adminInKoty}, {"a direct chat, by an admin", toBoss, tt.adminInADirect}} {
				if got := tt.command.Allows(use.request); got != use.want {
					t.Errorf("in %s: %v, want %v", use.where, got, use.want)
				}
			}
		})
	}
}

func TestWhatIsSwitchedOffIsOffThereForEverybody(t *testing.T) {
	s := newSwitches()
	r := registry(t, said.Polish, s)
	kot, pomoc, status := r.Find("kot"), r.Find("pomoc"), r.Find("status")
	for _, name := range []string{"kot", "pomoc", "status"} {
		s.off[at{name, transport.Chat{Group: koty}}] = true
	}
	for _, tt := range []struct {
		c    *command.Command
		q    command.Request
		want command.Verdict
	}{
		{kot, inKoty, command.Off}, {kot, asBoss, command.Off}, {kot, direct, command.Allowed},
		{pomoc, inKoty, command.Allowed}, // or nobody would learn what is left
		{status, asBoss, command.Allowed}, {status, inKoty, command.NotYours},
	} {
		if got := r.Check(tt.c, tt.q); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.c.Name, got, tt.want)
		}
	}
}

func TestEveryRefusalHasItsWords(t *testing.T) {
	for _, lang := range []said.Lang{said.Polish, said.English} {
		r := registry(t, lang, newSwitches())
		for v, want := range map[command.Verdict]string{
			command.Allowed:    "",
			command.NotYours:   lang.NotAllowed(in(lang, "!kot", "!cat")),
			command.GroupsOnly: lang.OnlyInGroups(in(lang, "!kot", "!cat")),
			command.DirectOnly: lang.OnlyDirect(in(lang, "!kot", "!cat")),
			command.Elsewhere:  lang.NotHere(in(lang, "!kot", "!cat")),
			command.Off:        lang.OffHere(in(lang, "!kot", "!cat")),
		} {
			if got := r.Refused(r.Find("kot"), v); got != want {
				t.Errorf("%v: %q, want %q", v, got, want)
			}
		}
	}
}
