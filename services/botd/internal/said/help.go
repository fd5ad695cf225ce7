package said

import (
	"strings"

	"quartet/services/botd/internal/asked"
)

// Scope says for whom a part of the help is.
type Scope int

// The scopes.
const (
	InGroup   Scope = iota // what members of this group may use
	InDirect               // what somebody may use in a chat with the bot
	ForAdmins              // what only admins may use
)

// HelpHeader begins the list of commands of one scope.
func (l Lang) HelpHeader(s Scope) string {
	switch s {
	case InGroup:
		return l.say(helpGroup)
	case ForAdmins:
		return l.say(helpAdmins)
	}
	return l.say(helpDirect)
}

// HelpLine is one line of that list: how a command is called (Usage), under
// which other names, and what it does, if that is known.
func (l Lang) HelpLine(usage string, aliases []string, about string) string {
	call := usage
	if len(aliases) > 0 {
		call = l.say(helpAliases, text("call", usage), text("aliases", strings.Join(aliases, ", ")))
	}
	if about == "" {
		return call
	}
	return l.say(helpLine, text("call", call), text("about", about))
}

// Topic is a built-in command.
type Topic int

// The built-in commands.
const (
	Help Topic = iota
	Cat
	Picture
	Me
	Forget
	Status
	Allow
	Leave
	Ignore
	Hear
	SwitchOn
	SwitchOff
	Cooldown
	Debug
)

// About says in one line what a built-in command does.
func (l Lang) About(t Topic) string { return l.say(aboutHelp + key(t)) }

// Usage shows how a command is called: <required> and [optional] parameters, an
// ellipsis where more than one word may stand, an @ where somebody is mentioned.
func (l Lang) Usage(command string, params []asked.Param) string {
	var out strings.Builder
	out.WriteString(command)
	for _, p := range params {
		name := l.called(p)
		if p.Kind == asked.Rest {
			name += "…"
		}
		if p.Optional {
			out.WriteString(" [" + name + "]")
		} else {
			out.WriteString(" <" + name + ">")
		}
	}
	return out.String()
}

// Param is what people call a parameter: command, group, person, seconds,
// number, word, words, lasting and switch are translated, any other name is
// said as it is.
func (l Lang) Param(name string) string {
	switch name {
	case "command":
		return l.say(paramCommand)
	case "group":
		return l.say(paramGroup)
	case "person":
		return l.say(paramPerson)
	case "seconds":
		return l.say(paramSeconds)
	case "number":
		return l.say(paramNumber)
	case "word":
		return l.say(paramWord)
	case "words":
		return l.say(paramWords)
	case "lasting":
		return l.say(paramLasting)
	case "switch":
		return l.say(paramSwitch)
	}
	return name
}

// called is what people call a parameter, with an @ where they mention somebody.
func (l Lang) called(p asked.Param) string {
	name := l.Param(p.Name)
	if p.Kind == asked.Person && !strings.HasPrefix(name, "@") {
		return "@" + name
	}
	return name
}

// BadArguments says what does not fit, and how the command is called (Usage).
func (l Lang) BadArguments(m *asked.Misfit, how string) string {
	param := text("param", l.called(m.Param))
	var fault string
	switch m.Reason {
	case asked.Missing:
		fault = l.say(missing, param)
	case asked.NotNumber:
		fault = l.say(notNumber, param, theirs("got", m.Got))
	case asked.NotPerson:
		fault = l.say(notPerson, param, theirs("got", m.Got))
	case asked.OutOfRange:
		fault = l.say(outOfRange, param, theirs("got", m.Got), count("min", int(m.Param.Min)), count("max", int(m.Param.Max)))
	case asked.Unfit:
		fault = l.say(unfit, param, theirs("got", m.Got))
	default:
		fault = l.say(tooMany)
	}
	return fault + "\n" + l.say(usage, text("usage", how))
}
