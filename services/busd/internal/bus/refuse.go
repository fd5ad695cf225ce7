package bus

import "fmt"

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

func refused(name, format string, args ...any) *refusal {
	return &refusal{name, fmt.Sprintf(format, args...)}
}

// refuse answers the message that is handled with an error. As in dbus-daemon
// whoever is refused hears of it, whether it wanted a reply or not.
func (b *Bus) refuse(p *Peer, r *refusal) {
	b.stats.Refused++
	b.sendError(p, b.msg.Serial, r.name, r.text)
}
