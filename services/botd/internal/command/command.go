// Package command holds what the bot can be asked: the commands, who may use
// them where, and how they are found.
//
//	command.go   what a command, a request and a reply are
//	verdict.go   who may use a command where
//	registry.go  the commands by name, and near names
//	pomoc.go     the list of commands
//	switch.go    włącz, wyłącz and przerwa, which admins change commands with
//	group.go     dopuść and opuść; person.go ignoruj and słuchaj
//	state.go     status and podsłuch
//	kot.go, obraz.go, ja.go
//	words.go     what several of them share
//
// A command computes a reply from a request. It neither receives nor sends;
// what it needs from outside it is given when it is made. How texts are read
// as commands is package asked's business, the words are package said's. It
// keeps nothing itself.
package command

import (
	"context"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
	"quartet/services/botd/internal/upstream"
)

// Command is one thing that the bot can be asked.
type Command struct {
	Name    string   // what it is called in metrics, and in help unless In says other
	Aliases []string // other names; of the bot's own commands the first is English
	Params  []asked.Param
	Help    string // one line for people
	Line    int    // where it stands in the operator's file; 0 for the bot's own

	Where  Where    // in which chats it works
	Admins bool     // for admins only
	Groups []string // internal ids: works only there; empty for everywhere
	People []string // uuids: for them and admins only; empty for everybody

	Limits    cooldown.Limits
	Uncounted bool // its uses are not counted: what erases somebody's count must not begin a new one

	// Run answers a request. An *asked.Misfit among its errors is about the
	// arguments and is explained to the asker, others are for the log.
	Run func(ctx context.Context, r Request) (Reply, error)
}

// In is what people are told that a command is called.
func (c *Command) In(lang said.Lang) string {
	if lang == said.English && c.Line == 0 && len(c.Aliases) > 0 {
		return c.Aliases[0]
	}
	return c.Name
}

// Where says in which chats a command works.
type Where int

// The places.
const (
	Anywhere Where = iota
	InGroups
	InDirect
)

// Request is one use of a command.
type Request struct {
	Sender string // the asker's uuid
	Name   string // the asker's profile name; may be empty
	Number string // the asker's number; often unknown
	Admin  bool   // the asker is an admin of the bot
	Chat   transport.Chat
	Group  string // title of the group asked in; may be empty
	Args   asked.Args
	Text   string    // everything behind the command's name; the user's text
	Uses   int       // how many commands the asker has used, this one counted; 0 when they are not counted
	At     time.Time // when the question was read
	Sent   int64     // the question's own timestamp, milliseconds
}

// Reply is what a command answers.
type Reply struct {
	Text    string
	Picture *upstream.Picture // nil for a text only

	// After is called once the reply has been sent, or was refused because its chat
	// takes none; nil for nothing.
	After func(context.Context) error
}
