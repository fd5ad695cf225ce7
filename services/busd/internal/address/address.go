// Package address reads and writes D-Bus server addresses, as the chapter
// "Server Addresses" of the D-Bus specification has them:
//
//	unix:path=/run/user/1000/bus,guid=0123…;tcp:host=localhost,port=4711
//
// It knows their syntax only. What a transport means, and which keys it
// takes, is the matter of whoever listens or connects.
package address

import (
	"fmt"
	"strings"
)

// Address is one entry of a list of addresses.
type Address struct {
	Transport string  // what stands before the colon
	Params    []Param // in the order of the text; keys are unique
}

// Param is one key and its value, unescaped.
type Param struct {
	Key, Value string
}

// Error is an address that cannot be read, as the error
// org.freedesktop.DBus.Error.BadAddress means it.
type Error struct {
	Entry  string // the entry in which it is, as it was written
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("address %q: %s", e.Entry, e.Reason) }

// Parse reads a list of addresses separated by semicolons. A semicolon at
// its end, and a comma at the end of an entry's keys, is taken, for libdbus takes
// it; an empty list or entry is not. An
// entry may be without keys (systemd:). All errors are *Error.
func Parse(list string) ([]Address, error) {
	entries := strings.Split(strings.TrimSuffix(list, ";"), ";")
	all := make([]Address, 0, len(entries))
	for _, entry := range entries {
		a, reason := parse(entry)
		if reason != "" {
			return nil, &Error{Entry: entry, Reason: reason}
		}
		all = append(all, a)
	}
	return all, nil
}

// parse returns the reason why it cannot, or none.
func parse(entry string) (a Address, reason string) {
	if entry == "" {
		return a, "it is empty"
	}
	transport, rest, found := strings.Cut(entry, ":")
	if !found {
		return a, "it has no colon behind the transport"
	}
	if transport == "" {
		return a, "it names no transport before the colon"
	}
	a.Transport = transport
	if rest == "" {
		return a, ""
	}
	for pair := range strings.SplitSeq(strings.TrimSuffix(rest, ","), ",") {
		key, value, found := strings.Cut(pair, "=")
		switch {
		case key == "":
			return a, "a key is empty"
		case !found || value == "":
			return a, fmt.Sprintf("key %q has no value", key)
		}
		if _, twice := a.Get(key); twice {
			return a, fmt.Sprintf("key %q is there twice", key)
		}
		plain, err := Unescape(value)
		if err != nil {
			return a, fmt.Sprintf("value of %q: %v", key, err)
		}
		a.Params = append(a.Params, Param{key, plain})
	}
	return a, ""
}

// Get returns the value of a key.
func (a Address) Get(key string) (value string, found bool) {
	for _, p := range a.Params {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

// String writes the address as it is printed, values escaped. Parse reads it
// back, provided that no value is empty.
func (a Address) String() string {
	var b strings.Builder
	b.WriteString(a.Transport)
	separator := byte(':')
	for _, p := range a.Params {
		b.WriteByte(separator)
		b.WriteString(p.Key)
		b.WriteByte('=')
		b.WriteString(Escape(p.Value))
		separator = ','
	}
	if len(a.Params) == 0 {
		b.WriteByte(separator)
	}
	return b.String()
}
