package transport

import (
	"net/http"
	"strings"
)

// words are what servers are known to say, in lower case. The first that is in
// a text decides, so what is dangerous to send again stands above what is not:
// "[413] Rate limit" is no attachment that is too large, and an I/O error that
// mentions something invalid is no bug of ours.
var words = []struct {
	part  string
	class Class
}{
	{"rate limit", ClassRateLimit},
	{"[429]", ClassRateLimit},
	{"captcha", ClassRateLimit},

	{"specified account does not exist", ClassAccount},
	{"method requires valid account", ClassAccount},
	{"authorization failed", ClassAccount},

	{"untrusted identit", ClassIdentity},
	{"untrusted recipient key", ClassIdentity},

	{"update your profile", ClassProfile},

	{"not registered", ClassChat},
	{"unregistered user", ClassChat},
	{"not a group member", ClassChat},
	{"not a member in group", ClassChat},
	{"group not found", ClassChat},
	{"not allowed to send message to group", ClassChat},

	{"[413]", ClassTooLarge},
	{"413 request entity", ClassTooLarge},

	// Before anything is uploaded or sent: signal-cli could not read the file.
	{"attachmentinvalidexception", ClassBug},
	{"failed to add attachment", ClassBug},

	{"no prekeys available", ClassTransient},
	{"network", ClassTransient},
	{"connection closed", ClassTransient},
	{"connection refused", ClassTransient},
	{"connection reset", ClassTransient},
	{"ioexception", ClassTransient},
	{"timeout", ClassTransient},
	{"timed out", ClassTransient},

	{"please provide", ClassBug},
	{"invalid", ClassBug},
	{"illegal base64", ClassBug},
	{"cannot be specified together", ClassBug},
	{"more than one group", ClassBug},
	{"view_once", ClassBug},
	{"link preview", ClassBug},
	{"username must contain", ClassBug},
	{"no recipients given", ClassBug},
	{"sending empty message", ClassBug},
	{"parameter is missing", ClassBug},
	{"profile name missing", ClassBug},
	{"failed to set the trust", ClassBug}, // of somebody whom the server does not know
	{"specify a new admin", ClassBug},     // the last admin cannot leave a group
}

// classifyText sorts a server's words; ok is false when they are not known.
func classifyText(text string) (class Class, ok bool) {
	text = strings.ToLower(text)
	for _, w := range words {
		if strings.Contains(text, w.part) {
			return w.class, true
		}
	}
	return ClassUnknown, false
}

// ClassifyREST sorts a refusal of signal-cli-rest-api. Its status is nearly
// always 400, so the words decide.
func ClassifyREST(status int, text string) Class {
	if status == http.StatusTooManyRequests {
		return ClassRateLimit
	}
	if class, ok := classifyText(text); ok {
		return class
	}
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType:
		return ClassBug // no such path: nothing was done
	case http.StatusRequestEntityTooLarge:
		return ClassTooLarge // said by a proxy: the server itself has no limit
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return ClassTransient
	}
	return ClassUnknown
}

// Codes of signal-cli's JSON-RPC errors that say what happened by themselves.
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
)

// ClassifyRPC sorts a refusal of signal-cli. What happened to each recipient
// says most, then a code that means one thing only, then the words.
func ClassifyRPC(code int, text string, failed []Failure) Class {
	switch code {
	case CodeRateLimit, CodeCaptcha:
		return ClassRateLimit
	case CodeUntrusted:
		return ClassIdentity
	case CodeParse, CodeRequest, CodeMethod:
		return ClassBug
	}
	if class, ok := classifyFailed(failed); ok {
		return class
	}
	if class, ok := classifyText(text); ok {
		return class
	}
	switch code {
	case CodeParams, CodeUser:
		return ClassBug
	case CodeIO:
		return ClassTransient
	}
	return ClassUnknown
}

// ClassifyReason sorts what happened to one recipient.
func ClassifyReason(reason string) Class {
	switch reason {
	case "RATE_LIMIT_FAILURE":
		return ClassRateLimit
	case "NETWORK_FAILURE", "INVALID_PRE_KEY_FAILURE":
		return ClassTransient
	case "IDENTITY_FAILURE":
		return ClassIdentity
	case "UNREGISTERED_FAILURE":
		return ClassChat
	}
	return ClassUnknown
}

// Untrusted lists the recipients, of those that a message did not reach, whose
// key has changed: whom Trust would help. Servers do not always tell; in a chat
// with one person it is that one.
func Untrusted(failed []Failure) []string {
	var people []string
	for _, f := range failed {
		if f.Recipient != "" && ClassifyReason(f.Reason) == ClassIdentity {
			people = append(people, f.Recipient)
		}
	}
	return people
}

// gravity orders the classes of recipients: of several, the one that forbids
// most stands for the call.
var gravity = []Class{ClassRateLimit, ClassUnknown, ClassTransient, ClassIdentity, ClassChat}

func classifyFailed(failed []Failure) (Class, bool) {
	for _, class := range gravity {
		for _, f := range failed {
			if ClassifyReason(f.Reason) == class {
				return class, true
			}
		}
	}
	return ClassUnknown, false
}
