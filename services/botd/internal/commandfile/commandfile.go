// Package commandfile reads the file in which operators write commands and
// schedules of their own: a TOML file of [[command]] and [[schedule]] tables.
//
//	fault.go     what is wrong, and on which line
//	lines.go     where in the file each field stands
//	table.go     fields by their types and bounds
//	command.go   a command, answer.go and http.go what it answers
//	schedule.go  a schedule
//	template.go  texts with {placeholders}
//	diff.go      what is different in another file
//
// A file is taken whole or not at all, and all its faults are named at once. A
// field that is not known is a fault, since it is most often a known one
// mistyped. That two files, or a file and the program, have a command of one
// name is not its business; that paths exist is not either.
//
// It is pure: bytes in, values out.
package commandfile

import (
	"bytes"
	"errors"
	"time"

	"github.com/pelletier/go-toml/v2"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/calendar"
)

// The bounds of a file.
const (
	MaxBytes     = 256 << 10
	MaxCommands  = 256
	MaxSchedules = 256
	MaxText      = 64 << 10 // bytes of one answer
)

// File is what a file says.
type File struct {
	Commands  []Command
	Schedules []Schedule
}

// Command is a command. Of Text, Choice, HTTP and Exec one is set.
type Command struct {
	Line    int // where it begins
	Name    string
	Aliases []string
	Help    string
	Params  []asked.Param

	Where  Where
	Admins bool     // for admins only
	People []string // uuids: for them and admins only; empty for everybody
	Groups []string // internal ids: works only there; empty for everywhere

	Cooldown *Cooldown     // nil when the file leaves it to the bot
	Timeout  time.Duration // 0 when the file leaves it to the bot

	Text   string
	Choice []Option
	HTTP   *HTTP
	Exec   *Exec
}

// Where says in which chats a command works.
type Where int

// The places.
const (
	Anywhere Where = iota
	InGroups
	InDirect
)

// Cooldown is how long after one use the next may come; 0 is no wait.
type Cooldown struct {
	User, UserGroup, Group, Command, Global time.Duration
}

// Option is one of several answers.
type Option struct {
	Text   string
	Weight int // how often it comes beside the others
}

// HTTP is a request whose answer is the command's.
type HTTP struct {
	Method    string
	URL       Template // of the names that Names has
	Header    []Setting
	As        As
	Path      []string // into JSON; nil for none
	Template  Template // of paths into JSON; nil for none
	Redirects []string // hosts to which a redirect may lead, beside the URL's own
}

// As says how an answer is read.
type As string

// The ways.
const (
	AsText    As = "text"
	AsJSON    As = "json"
	AsPicture As = "picture"
	AsHook    As = "hook"
)

// Exec is a program whose output is the command's answer.
type Exec struct {
	Run []string // the first is an absolute path
	Env []Setting
	Dir string // absolute
}

// Setting is a value under a name, or the file that has it.
type Setting struct {
	Name  string
	Value string
	File  string // "" when Value is it
}

// Schedule is something that the bot does by itself. One of Text and Command
// is set.
type Schedule struct {
	Line  int
	Name  string
	Plan  *calendar.Plan
	Chats []Chat

	Text    string
	Command string // the name of a command, the bot's own ones included
	Words   string // what stands behind it

	Once bool          // what was missed is made up for, once
	Late time.Duration // and how late it may then be
}

// Chat is where a schedule writes: one of the two is set.
type Chat struct {
	Group string // internal id
	User  string // uuid
}

// Parse reads a file. The error is Faults.
func Parse(data []byte) (*File, error) {
	var doc map[string]any
	if len(data) > MaxBytes {
		return nil, Faults{{What: "the file has more than 256 KiB"}}
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF")) // editors on Windows put it there
	if err := toml.Unmarshal(data, &doc); err != nil {
		return nil, Faults{syntax(err)}
	}
	r := &reader{lines: index(data)}
	f := r.file(&table{r: r, values: doc})
	if len(r.faults) > 0 {
		return nil, r.faults.sorted()
	}
	return f, nil
}

// syntax is the fault of a file that is no TOML.
func syntax(err error) Fault {
	if d, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := d.Position()
		return Fault{Line: line, What: d.Error()}
	}
	return Fault{What: err.Error()}
}

// file reads the whole document.
func (r *reader) file(root *table) *File {
	f := &File{}
	names := make(map[string]string) // by folded name: which command has it
	for _, t := range root.tables("command", MaxCommands) {
		f.Commands = append(f.Commands, t.command(names))
	}
	schedules := make(map[string]bool)
	for _, t := range root.tables("schedule", MaxSchedules) {
		f.Schedules = append(f.Schedules, t.schedule(schedules))
	}
	root.done()
	return f
}
