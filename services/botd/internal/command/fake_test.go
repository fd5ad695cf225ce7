package command_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
	"quartet/services/botd/internal/upstream"
)

const (
	ala   = "00000000-0000-4000-8000-00000000000a"
	ola   = "00000000-0000-4000-8000-00000000000c"
	boss  = "00000000-0000-4000-8000-0000000000b0"
	koty  = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=" // internal ids of groups
	psy   = "AQECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	short = "QUJD"
)

// The askers and places that commands are tried with.
var (
	inKoty = command.Request{Sender: ala, Chat: transport.Chat{Group: koty}, Group: "Koty"}
	direct = command.Request{Sender: ala, Chat: transport.Chat{User: ala}}
	asBoss = command.Request{Sender: boss, Admin: true, Chat: transport.Chat{Group: koty}, Group: "Koty"}
	toBoss = command.Request{Sender: boss, Admin: true, Chat: transport.Chat{User: boss}}
)

// decision is what was decided last, and the error that it meets.
type decision struct {
	what, about string
	err         error
}

func (d *decision) take(what string) func(string) error {
	return func(about string) error {
		d.what, d.about = what, about
		return d.err
	}
}

func (d *decision) Forget(person string) error { return d.take("forget")(person) }
func (d *decision) OptOut(person string) error { return d.take("opt out")(person) }
func (d *decision) OptIn(person string) error  { return d.take("opt in")(person) }

// switches are an admin's decisions, kept in maps.
type switches struct {
	off   map[at]bool
	pause map[at]time.Duration
	err   error
}

type at struct {
	command string
	chat    transport.Chat
}

func newSwitches() *switches {
	return &switches{off: map[at]bool{}, pause: map[at]time.Duration{}}
}

func (s *switches) Off(command string, chat transport.Chat) bool { return s.off[at{command, chat}] }

func (s *switches) SwitchOff(command string, chat transport.Chat) error {
	s.off[at{command, chat}] = true
	return s.err
}

func (s *switches) SwitchOn(command string, chat transport.Chat) error {
	delete(s.off, at{command, chat})
	return s.err
}

func (s *switches) SetCooldown(command string, chat transport.Chat, d time.Duration) error {
	s.pause[at{command, chat}] = d
	return s.err
}

func cats(context.Context) (upstream.Picture, error) {
	return upstream.Picture{ContentType: "image/png", Data: []byte{1}}, nil
}

// builtIn are the commands that need no registry.
func builtIn(lang said.Lang) []*command.Command {
	d := &decision{}
	return []*command.Command{
		command.Kot(lang, cats), command.Obraz(lang, nil), command.Ja(lang, "!zapomnij"), command.Zapomnij(lang, "!", d),
		command.Dopusc(lang, d.take("allow")),
		command.Opusc(lang, d.take("forbid"), func(context.Context, string) error { return nil }),
		command.Ignoruj(lang, func(asked.Mention) bool { return false }, d.take("ignore")), command.Sluchaj(lang, d.take("hear")),
		command.Status(lang, func(context.Context) said.State { return said.State{} }),
		command.Podsluch(lang, "!", func(transport.Chat, time.Time) func() { return func() {} }),
	}
}

// registry returns the built-in commands and others.
func registry(t testing.TB, lang said.Lang, s *switches, others ...*command.Command) *command.Registry {
	t.Helper()
	r, err := command.NewRegistry(command.Options{Lang: lang, Prefix: "!", Switches: s}, append(builtIn(lang), others...)...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ask has c answer what stands behind its name; a misfit is an error.
func ask(t testing.TB, c *command.Command, q command.Request, text string, people ...asked.Mention) (command.Reply, error) {
	t.Helper()
	args, err := asked.Call{Text: text, Mentions: people}.Fit(c.Params)
	if err != nil {
		return command.Reply{}, err
	}
	q.Args, q.Text = args, text
	return c.Run(t.Context(), q)
}

// nothing is a command of that name that does nothing.
func nothing(name string, aliases ...string) *command.Command {
	return &command.Command{Name: name, Aliases: aliases, Run: func(context.Context, command.Request) (command.Reply, error) {
		return command.Reply{}, nil
	}}
}

// in picks the words of a language.
func in(lang said.Lang, polish, english string) string {
	if lang == said.English {
		return english
	}
	return polish
}

// says fails unless a reply is exactly that.
func says(t testing.TB, reply command.Reply, err error, want string) {
	t.Helper()
	if err != nil || !strings.HasPrefix(reply.Text, want) || want == "" {
		t.Errorf("answers %q, %v; want %q", reply.Text, err, want)
	}
}
