package command

import (
	"slices"

	"quartet/services/botd/internal/said"
)

// Verdict says whether somebody may use a command where they ask.
type Verdict int

// The verdicts.
const (
	Allowed    Verdict = iota
	NotYours           // it is for admins, or for certain people
	GroupsOnly         // and this is a direct chat
	DirectOnly         // and this is a group
	Elsewhere          // it works in certain other groups
	Off                // an admin has switched it off in this chat
)

// Allows says whether the command is made for this asker and chat. What admins
// have switched off it does not know: Registry.Check does.
func (c *Command) Allows(r Request) Verdict {
	group := r.Chat.Group != ""
	switch {
	case c.Admins && !r.Admin:
		return NotYours
	case len(c.People) > 0 && !r.Admin && !slices.Contains(c.People, r.Sender):
		return NotYours
	case c.Where == InGroups && !group, len(c.Groups) > 0 && !group:
		return GroupsOnly
	case c.Where == InDirect && group:
		return DirectOnly
	case len(c.Groups) > 0 && !slices.Contains(c.Groups, r.Chat.Group):
		return Elsewhere
	}
	return Allowed
}

// words says to people why a command, as it is shown, is refused.
func (v Verdict) words(lang said.Lang, shown string) string {
	switch v {
	case Allowed:
		return ""
	case NotYours:
		return lang.NotAllowed(shown)
	case GroupsOnly:
		return lang.OnlyInGroups(shown)
	case DirectOnly:
		return lang.OnlyDirect(shown)
	case Off:
		return lang.OffHere(shown)
	}
	return lang.NotHere(shown)
}
