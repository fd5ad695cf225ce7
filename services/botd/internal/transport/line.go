package transport

import (
	"bytes"
	"encoding/json"
	"errors"
)

// ErrLine marks bytes that are no object of JSON-RPC.
var ErrLine = errors.New("not a line of JSON-RPC")

// Line is one line of JSON-RPC, taken apart and not decoded: its members are
// raw JSON inside the line, nil when they are missing or null. It costs one
// pass and no allocation, where decoding would copy every frame.
type Line struct {
	ID, Method, Params, Result, Error []byte
}

// ParseLine takes a line apart. Errors: ErrLine. Quotes and brackets have to
// add up; the inside of a member is checked by who decodes it.
func ParseLine(line []byte) (Line, error) {
	var l Line
	err := members(line, func(key, value []byte) {
		switch string(key) {
		case "id":
			l.ID = value
		case "method":
			l.Method = value
		case "params":
			l.Params = value
		case "result":
			l.Result = value
		case "error":
			l.Error = value
		}
	})
	return l, err
}

// Frame is the frame of a receive notification, ok false when the line is
// anything else. subscribed says that it came by a subscription, which wraps
// it; otherwise signal-cli sends it unasked to whoever is connected. An error
// in place of a frame becomes {"error": text}, as REST spells it.
func (l *Line) Frame() (raw []byte, subscribed, ok bool) {
	if string(l.Method) != `"receive"` {
		return nil, false, false
	}
	if l.Params == nil {
		return l.fault()
	}
	var result []byte
	var isFrame bool
	look := func(key, value []byte) {
		switch string(key) {
		case "subscription":
			subscribed = true
		case "result":
			result = value
		case "account", "envelope", "exception":
			isFrame = true
		}
	}
	if members(l.Params, look) != nil {
		return nil, false, false
	}
	if !subscribed {
		return l.Params, false, isFrame
	}
	if result == nil || members(result, look) != nil {
		return nil, false, false
	}
	return result, true, isFrame
}

func (l *Line) fault() (raw []byte, subscribed, ok bool) {
	var e struct {
		Message string `json:"message"`
	}
	if l.Error == nil || json.Unmarshal(l.Error, &e) != nil {
		return nil, false, false
	}
	return append(AppendString([]byte(`{"error":`), e.Message), '}'), false, true
}

// members calls each for every member of a JSON object, with its value nil
// when it is null. Of a key that comes twice the last one counts, as everywhere.
func members(object []byte, each func(key, value []byte)) error {
	i := blank(object, 0)
	if i == len(object) || object[i] != '{' {
		return ErrLine
	}
	i = blank(object, i+1)
	for first := true; i < len(object) && object[i] != '}'; first = false {
		if !first {
			if object[i] != ',' {
				return ErrLine
			}
			i = blank(object, i+1)
		}
		start := i
		if i = text(object, i); i < 0 {
			return ErrLine
		}
		key := object[start+1 : i-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			var plain string
			if json.Unmarshal(object[start:i], &plain) != nil {
				return ErrLine
			}
			key = []byte(plain)
		}
		i = blank(object, i)
		if i == len(object) || object[i] != ':' {
			return ErrLine
		}
		start = blank(object, i+1)
		if i = value(object, start); i < 0 {
			return ErrLine
		}
		v := object[start:i]
		if string(v) == "null" {
			v = nil
		}
		each(key, v)
		i = blank(object, i)
	}
	if i >= len(object) || blank(object, i+1) != len(object) {
		return ErrLine
	}
	return nil
}

// blank returns where white space that begins at i ends.
func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// text returns where the string that begins at i ends, -1 when there is none.
func text(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	start := i + 1
	for i = start; ; i++ {
		quote := bytes.IndexByte(b[i:], '"')
		if quote < 0 {
			return -1
		}
		i += quote
		escapes := 0
		for i-escapes > start && b[i-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 { // else the last of them is the quote's
			return i + 1
		}
	}
}

// value returns where the value that begins at i ends, -1 when there is none.
func value(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return text(b, i)
	case '{', '[':
		return nested(b, i)
	}
	start := i
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return ended(start, i)
		case '"', '{', '[', ':':
			return -1
		}
		i++
	}
	return ended(start, i)
}

func ended(start, end int) int {
	if end == start {
		return -1
	}
	return end
}

// nested returns where the object or list that begins at i ends.
func nested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		case '"':
			if i = text(b, i); i < 0 {
				return -1
			}
			continue
		}
		i++
	}
	return -1
}
