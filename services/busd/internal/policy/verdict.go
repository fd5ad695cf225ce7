package policy

import "fmt"

// Verdict is what the policy says of one question. The zero Verdict is a
// refusal because no rule matched.
type Verdict struct {
	Allow bool
	// Log asks to log the message (log="true" on the rule that decided).
	Log bool
	// Matched is how many rules matched. It is counted for refused and logged
	// messages; for others it is 1.
	Matched int
	// Rule is the rule that decided, nil when none matched.
	Rule *Rule
}

// String says the verdict and where it comes from, for people.
func (v Verdict) String() string {
	word := "refused"
	if v.Allow {
		word = "allowed"
	}
	if v.Rule == nil {
		return word + ": no rule matches"
	}
	return fmt.Sprintf("%s by %s:%d: %s in <policy %s>", word, v.Rule.File, v.Rule.Line, v.Rule.Text, v.Rule.Section)
}
