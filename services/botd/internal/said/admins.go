package said

import "time"

// GroupAllowed confirms that the bot answers in a group.
func (l Lang) GroupAllowed(group string) string { return l.say(groupAllowed, l.group(group)) }

// GroupLeft confirms that the bot leaves a group.
func (l Lang) GroupLeft(group string) string { return l.say(groupLeft, l.group(group)) }

// PersonIgnored confirms that somebody is ignored. Who that is the admin has
// just written: mentions have no names in them.
func (l Lang) PersonIgnored() string { return l.say(personIgnored) }

// PersonHeard confirms that somebody is no longer ignored.
func (l Lang) PersonHeard() string { return l.say(personHeard) }

// NoUUID says that somebody was mentioned whom the bot cannot tell from others.
func (l Lang) NoUUID() string { return l.say(noUUID) }

// AdminsHeard says that admins are not ignored.
func (l Lang) AdminsHeard() string { return l.say(adminsHeard) }

// SwitchedOn confirms that a command works in this chat.
func (l Lang) SwitchedOn(command string) string { return l.say(switchedOn, text("command", command)) }

// SwitchedOff confirms that a command does not work in this chat.
func (l Lang) SwitchedOff(command string) string { return l.say(switchedOff, text("command", command)) }

// CooldownSet confirms a command's cooldown; 0 is none.
func (l Lang) CooldownSet(command string, d time.Duration) string {
	if d <= 0 {
		return l.say(cooldownNone, text("command", command))
	}
	return l.say(cooldownSet, text("command", command), text("duration", l.Lasting(d)))
}

// CooldownUnset confirms that a command's cooldown is not another one here.
func (l Lang) CooldownUnset(command string) string {
	return l.say(cooldownUnset, text("command", command))
}

// Fixed says that a command can be neither switched off nor slowed down.
func (l Lang) Fixed(command string) string { return l.say(fixed, text("command", command)) }

// NoCommand tells an admin that there is no command of that name.
func (l Lang) NoCommand(typed string) string { return l.say(noCommand, theirs("command", typed)) }

// TooManyKept tells an admin that no more decisions of a kind can be kept.
func (l Lang) TooManyKept() string { return l.say(tooManyKept) }

// DebugOn says that what people write in this chat is logged, until when, and
// which command ends it sooner. The zone is named: people are not where the
// bot is.
func (l Lang) DebugOn(until time.Time, stop string) string {
	return l.say(debugOn, text("until", until.Format("15:04 MST")), text("stop", stop))
}

// DebugFull says that it is not, because enough chats are.
func (l Lang) DebugFull() string { return l.say(debugFull) }

// DebugOff says that it is not logged any more.
func (l Lang) DebugOff() string { return l.say(debugOff) }
