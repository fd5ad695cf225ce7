package signalnet

import "fmt"

// Codes of signal-cli's JSON-RPC errors.
const (
	CodeUser      = -1
	CodeIO        = -3
	CodeUntrusted = -4
	CodeRateLimit = -5
	CodeCaptcha   = -6
	CodeParse     = -32700
	CodeRequest   = -32600
	CodeMethod    = -32601
	CodeParams    = -32602
	CodeInternal  = -32603
)

// Failure is an error that the Signal side answers to a call.
// Its text is what REST passes on; the code is JSON-RPC's.
type Failure struct {
	Class string
	Code  int
	Text  string
	Token *string // set for a rate limit that REST answers with 429: its challenge token
}

func (f *Failure) Error() string { return fmt.Sprintf("%s (%d): %s", f.Class, f.Code, f.Text) }

// failures are the classes a caller has to tell apart, with a text each that
// contains the words the real server is known for.
var failures = []Failure{
	{Class: "bug", Code: CodeUser, Text: "Invalid group id"},
	{Class: "account", Code: CodeParams, Text: "Specified account does not exist"},
	{Class: "identity", Code: CodeUntrusted, Text: "Unable to complete request due to untrusted recipient keys"},
	{Class: "permanent", Code: CodeUser, Text: "Failed to send message: user is not registered"},
	{Class: "rate_limit", Code: CodeInternal, Text: "Failed to send message: [429] Rate limit exceeded: 429 (RateLimitException)"},
	{Class: "too_large", Code: CodeInternal, Text: "Failed to upload attachment: [413] https://cdn3.signal.org/attachments (NonSuccessfulResponseCodeException)"},
	{Class: "transient", Code: CodeIO, Text: "Failed to send message: Connection closed! (IOException)"},
	{Class: "prekeys", Code: CodeInternal, Text: "Failed to send message: No prekeys available (UnexpectedErrorException)"},
	{Class: "announcement", Code: CodeUser, Text: "User is not allowed to send message to group: simulated (AAEC=)"},
	{Class: "not_member", Code: CodeUser, Text: "User is not a member in group: simulated (AAEC=)"},
	{Class: "profile", Code: CodeUser, Text: "Cannot send message to group - please first update your profile."},
}

func failure(class string) *Failure {
	for _, f := range failures {
		if f.Class == class {
			return &f
		}
	}
	panic("signalnet: no failure class " + class)
}

// rateLimited is the failure that REST answers with 429.
func rateLimited(token string) *Failure {
	return &Failure{Class: "429", Code: CodeRateLimit, Text: "Failed to send message due to rate limiting", Token: &token}
}

// uploadLimited is the rate limit of attachment uploads, which REST answers with 400.
func uploadLimited() *Failure {
	return &Failure{Class: "429_upload", Code: CodeInternal, Text: "Failed to upload attachment: [429] Rate limit exceeded: 429 (RateLimitException)"}
}

// groupNotFound is the failure of a call for a group that signal-cli does not know.
func groupNotFound(id string) *Failure {
	return &Failure{Class: "not_found", Code: CodeUser, Text: "Group not found: " + id}
}

// notMember is the failure of a call for a group that the bot is not in.
func notMember(g Group) *Failure {
	return &Failure{Class: "not_member", Code: CodeUser, Text: fmt.Sprintf("User is not a member in group: %s (%s)", g.Name, g.ID)}
}

// noSending is the failure of a send to a group where only admins may write.
func noSending(g Group) *Failure {
	return &Failure{Class: "announcement", Code: CodeUser, Text: fmt.Sprintf("User is not allowed to send message to group: %s (%s)", g.Name, g.ID)}
}

// NoAccount is the failure of a call for an account that is not registered.
func NoAccount() *Failure { return failure("account") }

// Unreached is the member that a partial failure names.
const Unreached = "99999999-9999-4999-8999-999999999999"
