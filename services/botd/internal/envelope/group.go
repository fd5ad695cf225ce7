package envelope

import (
	"encoding/base64"
	"strings"
)

// Signal's servers spell a group's id in two ways. Frames and JSON-RPC carry
// the internal id, base64 of 32 bytes. REST paths and recipients want the
// public id: "group." and the base64 of that base64 text. A recipient in the
// internal spelling is taken for a username.
const publicPrefix = "group."

// internalBytes is the length of a group's identifier before any base64.
const internalBytes = 32

// PublicGroupID is the public spelling of an internal group id.
func PublicGroupID(internal string) string {
	return publicPrefix + base64.StdEncoding.EncodeToString([]byte(internal))
}

// InternalGroupID is the internal spelling of a public group id; ok is false
// when public is not one.
func InternalGroupID(public string) (internal string, ok bool) {
	text, found := strings.CutPrefix(public, publicPrefix)
	if !found {
		return "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !IsInternalGroupID(string(decoded)) {
		return "", false
	}
	return string(decoded), true
}

// IsInternalGroupID reports whether id is the base64 of a group's 32 bytes.
func IsInternalGroupID(id string) bool {
	raw, err := base64.StdEncoding.DecodeString(id)
	return err == nil && len(raw) == internalBytes
}
