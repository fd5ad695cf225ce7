package match

import "fmt"

// The D-Bus errors that Parse answers with.
const (
	Invalid        = "org.freedesktop.DBus.Error.MatchRuleInvalid"
	LimitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
)

// Error is why a rule was refused, fit to be sent as a D-Bus error reply.
type Error struct {
	Name    string // Invalid or LimitsExceeded
	Message string
}

func (e *Error) Error() string { return e.Message }

// invalid returns a refusal for the caller's mistake.
func invalid(format string, args ...any) *Error {
	return &Error{Name: Invalid, Message: fmt.Sprintf(format, args...)}
}
