package commandfile

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/calendar"
)

// The bounds of a schedule.
const (
	maxName     = 64 // bytes
	maxChats    = 64
	defaultLate = time.Hour
	minLate     = time.Minute
	maxLate     = 7 * 24 * time.Hour
)

// schedule reads a schedule. names are those that schedules before it have: by
// its name it is remembered when one ran.
func (t *table) schedule(names map[string]bool) Schedule {
	s := Schedule{Line: t.r.lines.find(t.path)}
	s.Name = t.text("name", maxName)
	switch {
	case s.Name != "":
		t.label = fmt.Sprintf("schedule %q", short(s.Name))
		if names[s.Name] {
			t.fault("name", "another schedule has it")
		}
		names[s.Name] = true
	case !t.has("name"):
		t.fault("", "name is missing")
	}
	s.Plan = t.plan()
	s.Chats = t.chats()
	t.does(&s)
	s.Once = t.word("missed", "skip", "once") == "once"
	if s.Late = t.duration("late", minLate, maxLate); s.Once && s.Late == 0 {
		s.Late = defaultLate
	}
	if !s.Once && t.has("late") {
		t.fault("late", `needs missed = "once"`)
	}
	t.done()
	return s
}

// plan reads when something is due.
func (t *table) plan() *calendar.Plan {
	line, zone := t.text("cron", maxLine), t.text("zone", maxLine)
	if !t.has("cron") {
		t.fault("", "cron is missing")
	}
	if _, err := calendar.Parse("@daily", zone); err != nil {
		t.fault("zone", "%v", err)
		zone = "UTC" // the line may be wrong too
	}
	p, err := calendar.Parse(line, zone)
	if err != nil && line != "" {
		t.fault("cron", "%v", err)
	}
	return p
}

// chats reads where a schedule writes.
func (t *table) chats() []Chat {
	var all []Chat
	for _, id := range t.texts("chats", maxChats, maxLine) {
		group, ok := groupID(id)
		switch person := strings.ToLower(id); {
		case ok:
			all = append(all, Chat{Group: group})
		case uuidForm.MatchString(person):
			all = append(all, Chat{User: person})
		default:
			t.fault("chats", "%q is neither a group's id nor a person's uuid", short(id))
		}
	}
	if len(all) == 0 {
		t.fault("", "chats has nobody to write to")
	}
	return all
}

// does reads what a schedule does.
func (t *table) does(s *Schedule) {
	if t.has("text") == t.has("command") {
		t.fault("", "must have one of text, command")
	}
	s.Text = strings.TrimRightFunc(t.text("text", MaxText), unicode.IsSpace)
	call := strings.TrimSpace(t.text("command", maxLine))
	if call == "" {
		return
	}
	name, words, _ := strings.Cut(call, " ")
	if err := asked.CheckName(name); err != nil {
		t.fault("command", "%v; it stands here without a prefix", err)
	}
	s.Command, s.Words = name, strings.TrimSpace(words)
}
