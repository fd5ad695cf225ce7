package said

import (
	"strings"
	"time"
)

// Commands are given as people call them, with the prefix: "!kot". Names of
// people and groups may be empty.

// Wait says when a command may be used again.
func (l Lang) Wait(command string, in time.Duration) string {
	return l.say(wait, text("command", command), text("in", l.In(in)))
}

// Failed says that a command came to nothing. Why is for the log.
func (l Lang) Failed() string { return l.say(failed) }

// DidYouMean names the command that was probably meant.
func (l Lang) DidYouMean(command string) string {
	return l.say(didYouMean, text("command", command))
}

// TooManyWaiting says that one person has n commands waiting and that more are
// not taken.
func (l Lang) TooManyWaiting(n int) string { return l.say(tooManyWaiting, count("n", n)) }

// TooManyPictures says when the next picture can be had.
func (l Lang) TooManyPictures(in time.Duration) string {
	return l.say(tooManyPictures, text("in", l.In(in)))
}

// NotAllowed says that somebody may not use a command.
func (l Lang) NotAllowed(command string) string { return l.say(notAllowed, text("command", command)) }

// OnlyInGroups says that a command does not work in a direct chat.
func (l Lang) OnlyInGroups(command string) string {
	return l.say(onlyInGroups, text("command", command))
}

// OnlyDirect says that a command does not work in a group.
func (l Lang) OnlyDirect(command string) string { return l.say(onlyDirect, text("command", command)) }

// NotHere says that a command works in other chats than this.
func (l Lang) NotHere(command string) string { return l.say(notHere, text("command", command)) }

// OffHere says that a command is switched off in this chat.
func (l Lang) OffHere(command string) string { return l.say(offHere, text("command", command)) }

// UnknownGroup tells an admin that the bot is called in a group that was not
// allowed; allow is the command that allows it, whole. It has the last line for
// itself: a title may have a command in it too.
func (l Lang) UnknownGroup(group, allow string) string {
	return l.say(unknownGroup, l.group(group)) + "\n" + allow
}

// AboutYou says what is stored about somebody: the name and how many commands
// they have used; forget is the command that erases it.
func (l Lang) AboutYou(person string, uses int, forget string) string {
	return l.say(me, l.person(person), count("n", uses), text("forget", forget))
}

// NothingAboutYou says that nothing is stored about somebody but what keeps
// the bot from answering twice.
func (l Lang) NothingAboutYou(person string) string { return l.say(meNothing, l.person(person)) }

// Forgotten says that what was stored is erased, and what stays for a while.
func (l Lang) Forgotten() string { return l.say(forgotten) }

// OptedOut says that it is erased and that no more will be stored than that;
// back is the command that allows it again.
func (l Lang) OptedOut(back string) string { return l.say(optedOut, text("back", back)) }

// OptedIn says that things may be stored again.
func (l Lang) OptedIn() string { return l.say(optedIn) }

// NoPicture says that there is no picture for what was asked for.
func (l Lang) NoPicture(query string) string { return l.say(noPicture, theirs("query", query)) }

// Credit is whose a picture is. Everything may be empty.
type Credit struct {
	Title   string
	Author  string // text, not HTML
	Licence string // its short name, as "CC BY-SA 4.0"
	Source  string // URL of the page that says so
}

// The most bytes of a caption's parts: all of them fit into one message.
const (
	maxCredit = 300
	maxSource = 600 // a longer URL is left out, a part of one leads nowhere
)

// Caption stands under a picture: title, author and licence, source, each on
// its line, as far as they are known. Without any it is empty.
func (l Lang) Caption(c Credit) string {
	title, author, licence := harmless(c.Title, maxCredit), harmless(c.Author, maxCredit), harmless(c.Licence, maxCredit)
	var lines []string
	if title != "" {
		lines = append(lines, title)
	}
	switch {
	case author != "" && licence != "":
		lines = append(lines, l.say(credit, text("author", author), text("licence", licence)))
	case licence != "":
		lines = append(lines, l.say(creditNoAuthor, text("licence", licence)))
	case author != "":
		lines = append(lines, l.say(creditNoLicence, text("author", author)))
	}
	if source := harmless(c.Source, len(c.Source)); source != "" && len(source) <= maxSource {
		lines = append(lines, source)
	}
	return strings.Join(lines, "\n")
}

// person is a person's name for a sentence.
func (l Lang) person(name string) arg {
	a := theirs("person", name)
	if a.text == "" {
		a.text = l.say(someone)
	}
	return a
}

// group is a group's name for a sentence.
func (l Lang) group(name string) arg {
	a := theirs("group", name)
	if a.text == "" {
		a.text = l.say(groupUnnamed)
	}
	return a
}
