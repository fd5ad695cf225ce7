package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/commandfile"
	"quartet/services/botd/internal/config"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/custom"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
	"quartet/services/botd/internal/upstream"
)

// kitchen has what commands are made of.
type kitchen struct {
	cfg       config.Config
	lang      said.Lang
	state     *state
	upstreams *upstreams
	signal    transport.Sender
	bot       *bot.Bot // set before the first command is used
	offline   bool     // nobody else is asked anything
}

// menu is what the bot can be asked and what it says by itself.
type menu struct {
	file     *commandfile.File
	registry *command.Registry
}

// cook makes the commands, with those of the operator's file as it is now.
func (k *kitchen) cook() (*menu, error) {
	m := &menu{file: &commandfile.File{}}
	if k.cfg.Commands != "" {
		raw, err := readBounded(k.cfg.Commands)
		if err != nil {
			return nil, fmt.Errorf("BOTD_COMMANDS_FILE: %w", err)
		}
		if m.file, err = commandfile.Parse(raw); err != nil {
			return nil, fmt.Errorf("BOTD_COMMANDS_FILE: %s: %w", k.cfg.Commands, err)
		}
	}
	ours := k.builtIn()
	theirs, err := custom.New(m.file, custom.Options{Lang: k.lang, Limits: limits(k.cfg), Fetcher: k.upstreams.fetcher, Picture: upstream.ParsePicture})
	if err != nil {
		return nil, fmt.Errorf("BOTD_COMMANDS_FILE: %s: %w", k.cfg.Commands, err)
	}
	if k.offline {
		unplug(ours[:asking], m.file, theirs)
	}
	m.registry, err = command.NewRegistry(command.Options{
		Lang: k.lang, Prefix: k.cfg.Prefixes[0], Switches: k.state.rules, Limits: limits(k.cfg),
	}, slices.Concat(ours, theirs)...)
	if err == nil {
		err = k.checkSchedules(m)
	}
	if err != nil {
		return nil, fmt.Errorf("BOTD_COMMANDS_FILE: %s: %w", k.cfg.Commands, err)
	}
	return m, nil
}

// unplug makes commands that ask others say that they would.
func unplug(ours []*command.Command, f *commandfile.File, theirs []*command.Command) {
	would := func(what string) func(context.Context, command.Request) (command.Reply, error) {
		return func(context.Context, command.Request) (command.Reply, error) {
			return command.Reply{Text: "[what " + what + " answers]"}, nil
		}
	}
	for _, c := range ours {
		c.Run = would("a picture site")
	}
	for i, c := range f.Commands {
		switch {
		case c.HTTP != nil:
			theirs[i].Run = would("a web server")
		case c.Exec != nil:
			theirs[i].Run = would("a program")
		}
	}
}

// readBounded reads a file of commands; one byte too many is for the parser to
// complain about.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, commandfile.MaxBytes+1))
}

// checkSchedules refuses schedules of commands that are none.
func (k *kitchen) checkSchedules(m *menu) error {
	var faults []error
	for _, s := range m.file.Schedules {
		if s.Command == "" {
			continue
		}
		c := m.registry.Find(asked.Fold(s.Command))
		switch {
		case c == nil:
			faults = append(faults, fmt.Errorf("line %d: schedule %q: there is no command %q", s.Line, s.Name, s.Command))
		case c.Admins:
			faults = append(faults, fmt.Errorf("line %d: schedule %q: %q is for admins only", s.Line, s.Name, s.Command))
		default:
			if _, err := (asked.Call{Text: s.Words}).Fit(c.Params); err != nil {
				faults = append(faults, fmt.Errorf("line %d: schedule %q: %q: %w", s.Line, s.Name, s.Command, err))
			}
		}
	}
	return errors.Join(faults...)
}

// asking is how many of builtIn ask others; they are the first.
const asking = 2

// builtIn makes the commands that every bot has, but for those about commands.
func (k *kitchen) builtIn() []*command.Command {
	lang, prefix, rules := k.lang, k.cfg.Prefixes[0], k.state.rules
	zapomnij := command.Zapomnij(lang, prefix, k.state.people)
	all := []*command.Command{
		command.Kot(lang, k.upstreams.cats.Random),
		command.Obraz(lang, k.upstreams.commons.Find),
		command.Ja(lang, prefix+zapomnij.In(lang)),
		zapomnij,
		command.Status(lang, k.status),
		command.Dopusc(lang, func(group string) error { return k.bot.Allow(group) }),
		command.Opusc(lang, rules.Forbid, k.signal.Leave),
		command.Ignoruj(lang, k.isAdmin, rules.Ignore),
		command.Sluchaj(lang, rules.Hear),
		command.Podsluch(lang, prefix, func(chat transport.Chat, until time.Time) func() { return k.bot.Debug(chat, until) }),
	}
	for _, c := range all {
		if !c.Admins {
			c.Limits = limits(k.cfg)
		}
	}
	return all
}

func limits(cfg config.Config) cooldown.Limits {
	return cooldown.Limits{
		User:      time.Duration(cfg.Cooldown),
		UserGroup: time.Duration(cfg.CooldownUserGroup),
		Group:     time.Duration(cfg.CooldownGroup),
		Command:   time.Duration(cfg.CooldownCommand),
		Global:    time.Duration(cfg.CooldownGlobal),
	}
}

// status is what admins are told.
func (k *kitchen) status(ctx context.Context) said.State {
	s := k.bot.Status(ctx)
	s.Transport = connection(k.cfg)
	return s
}

func (k *kitchen) isAdmin(m asked.Mention) bool { return k.bot.IsAdmin(m.UUID, m.Number) }
