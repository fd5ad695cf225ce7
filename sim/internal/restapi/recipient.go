package restapi

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// The kinds of recipients, as the real server tells them apart.
type recipientKind int

const (
	toNumber recipientKind = iota // a number or a uuid
	toUsername
	toGroup
)

const (
	errGroupsAndNumbers    refusal = "Signal Messenger Groups and phone numbers cannot be specified together in one request! Please split them up into multiple REST API calls."
	errGroupsAndUsernames  refusal = "Signal Messenger Groups and usernames cannot be specified together in one request! Please split them up into multiple REST API calls."
	errNumbersAndUsernames refusal = "Signal Messenger phone numbers and usernames cannot be specified together in one request! Please split them up into multiple REST API calls."
	errManyGroups          refusal = "A signal message cannot be sent to more than one group at once! Please use multiple REST API calls for that."
	errUsername            refusal = "Failed to send message: Username must contain a '.'"
)

// refusal is an error whose words the client reads: the real server's, with
// their capitals and stops.
type refusal string

func (r refusal) Error() string { return string(r) }

// kindOf tells what a recipient is; a group's internal id comes with it.
// Everything that is nothing else is a username, also an internal group id.
func kindOf(recipient string) (recipientKind, string, error) {
	if rest, ok := strings.CutPrefix(recipient, "group."); ok {
		return groupOrUsername(recipient, rest)
	}
	if isNumber(recipient) || isUUID(recipient) {
		return toNumber, "", nil
	}
	return toUsername, "", nil
}

func groupOrUsername(whole, rest string) (recipientKind, string, error) {
	internal, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		if len(rest) <= 10 { // a username's discriminator is that long at most
			return toUsername, "", nil
		}
		return toGroup, "", refusal("Invalid identifier " + whole)
	}
	id, err := base64.StdEncoding.DecodeString(string(internal))
	if err != nil {
		return toGroup, "", refusal("Invalid identifier " + whole)
	}
	if len(id) != 32 {
		return toGroup, "", refusal(fmt.Sprintf("Invalid Signal group size (%d", len(id))) // the parenthesis is missing there too
	}
	return toGroup, string(internal), nil
}

func isNumber(s string) bool {
	digits, plus := strings.CutPrefix(s, "+")
	return plus && strings.Trim(digits, "0123456789 ") == "" && strings.TrimSpace(digits) != ""
}

func isUUID(s string) bool {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	_, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	return err == nil
}

// groupsOf checks who a message is for and returns the internal id of the group, if it is one.
func groupsOf(recipients []string) ([]string, error) {
	var count [3]int
	var groups []string
	for _, r := range recipients {
		kind, internal, err := kindOf(r)
		if err != nil {
			return nil, err
		}
		count[kind]++
		if kind == toGroup {
			groups = append(groups, internal)
		}
	}
	switch {
	case count[toGroup] > 0 && count[toNumber] > 0:
		return nil, errGroupsAndNumbers
	case count[toGroup] > 0 && count[toUsername] > 0:
		return nil, errGroupsAndUsernames
	case count[toNumber] > 0 && count[toUsername] > 0:
		return nil, errNumbersAndUsernames
	case count[toGroup] > 1:
		return nil, errManyGroups
	}
	for _, r := range recipients {
		if count[toUsername] > 0 && !strings.Contains(r, ".") {
			return nil, errUsername
		}
	}
	return groups, nil
}
