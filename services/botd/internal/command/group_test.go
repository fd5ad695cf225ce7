package command_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
)

func TestDopuscAllowsAGroup(t *testing.T) {
	for _, lang := range []said.Lang{said.Polish, said.English} {
		for _, tt := range []struct {
			name, typed, group, title string
			q                         command.Request
		}{
			{name: "this one", q: asBoss, group: koty, title: "Koty"},
			{name: "this one by its id", q: asBoss, typed: koty, group: koty, title: "Koty"},
			{name: "another one from here", q: asBoss, typed: psy, group: psy, title: psy},
			{name: "one from a direct chat", q: toBoss, typed: psy, group: psy, title: psy},
		} {
			d := &decision{}
			reply, err := ask(t, command.Dopusc(lang, d.take("allow")), tt.q, tt.typed)
			says(t, reply, err, lang.GroupAllowed(tt.title))
			if d.what != "allow" || d.about != tt.group || reply.After != nil {
				t.Errorf("%s: %s %s", tt.name, d.what, d.about)
			}
		}
	}
}

func TestOpuscAnswersBeforeItLeaves(t *testing.T) {
	for _, lang := range []said.Lang{said.Polish, said.English} {
		var left string
		gone := errors.New("gone")
		d := &decision{}
		opusc := command.Opusc(lang, d.take("forbid"), func(_ context.Context, group string) error { left = group; return gone })
		reply, err := ask(t, opusc, asBoss, "")
		says(t, reply, err, lang.GroupLeft("Koty"))
		if d.what != "forbid" || d.about != koty || left != "" {
			t.Fatalf("before the answer: %s %s, left %q", d.what, d.about, left)
		}
		if err := reply.After(t.Context()); !errors.Is(err, gone) || left != koty {
			t.Errorf("left %q, %v", left, err)
		}
	}
}

// Who leaves twice has left: that is nothing for somebody to look after.
func TestOpuscOfAGroupThatWeAreNotInIsDone(t *testing.T) {
	gone := &transport.Error{Class: transport.ClassChat, Text: "User is not a member in group"}
	opusc := command.Opusc(said.Polish, (&decision{}).take("forbid"), func(context.Context, string) error { return fmt.Errorf("leave: %w", gone) })
	reply, err := ask(t, opusc, asBoss, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := reply.After(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOpuscStaysWhereItCouldNotBeWrittenDown(t *testing.T) {
	d := &decision{err: errors.New("disk full")}
	opusc := command.Opusc(said.Polish, d.take("forbid"), nil)
	if reply, err := ask(t, opusc, asBoss, ""); !errors.Is(err, d.err) || reply.After != nil || reply.Text != "" {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestAGroupHasToBeNamedInADirectChat(t *testing.T) {
	d := &decision{}
	for name, c := range map[string]*command.Command{"dopuść": command.Dopusc(said.Polish, d.take("allow")), "opuść": command.Opusc(said.Polish, d.take("forbid"), nil)} {
		for typed, want := range map[string]asked.Reason{"": asked.Missing, "koty": asked.Unfit, short: asked.Unfit, koty + " " + psy: asked.TooMany} {
			_, err := ask(t, c, toBoss, typed)
			if m, ok := errors.AsType[*asked.Misfit](err); !ok || m.Reason != want {
				t.Errorf("%s %q: %v", name, typed, err)
			}
		}
	}
	if d.what != "" {
		t.Errorf("and yet it did %s %s", d.what, d.about)
	}
}
