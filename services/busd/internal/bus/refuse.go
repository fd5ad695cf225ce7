package bus

import (
	"fmt"
	"unicode/utf8"
)

// Names of errors that the bus sends.
const (
	errorPrefix         = "org.freedesktop.DBus.Error."
	accessDenied        = errorPrefix + "AccessDenied"
	failed              = errorPrefix + "Failed"
	inconsistentMessage = errorPrefix + "InconsistentMessage"
	invalidArgs         = errorPrefix + "InvalidArgs"
	limitsExceeded      = errorPrefix + "LimitsExceeded"
	matchRuleNotFound   = errorPrefix + "MatchRuleNotFound"
	nameHasNoOwner      = errorPrefix + "NameHasNoOwner"
	noReplyError        = errorPrefix + "NoReply"
	notSupported        = errorPrefix + "NotSupported"
	propertyReadOnly    = errorPrefix + "PropertyReadOnly"
	serviceUnknown      = errorPrefix + "ServiceUnknown"
	unknownInterface    = errorPrefix + "UnknownInterface"
	unknownMethod       = errorPrefix + "UnknownMethod"
	unknownProperty     = errorPrefix + "UnknownProperty"
	unixProcessUnknown  = errorPrefix + "UnixProcessIdUnknown"
)

// A refusal is an error that a peer is told: what it asked for is not done.
type refusal struct{ name, text string }

// What a refusal says of a string is no more than maxEcho bytes: a name has 255
// at most, and what is none may be as long as a message, and four times that
// once it is quoted. No text is longer than maxText.
const (
	maxEcho = 512
	maxText = 4096
)

func refused(name, format string, args ...any) *refusal {
	for i, a := range args {
		if s, ok := a.(string); ok && len(s) > maxEcho {
			args[i] = cut(s, maxEcho)
		}
	}
	return &refusal{name, fmt.Sprintf(format, args...)}
}

// refuse answers the message that is handled with an error. As in dbus-daemon
// whoever is refused hears of it, whether it wanted a reply or not.
func (b *Bus) refuse(p *Peer, r *refusal) {
	b.stats.Refused++
	b.sendError(p, b.handled.msg.Serial, r.name, r.text)
}

// cut is the beginning of a text that is longer than it may be.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "..."
}
