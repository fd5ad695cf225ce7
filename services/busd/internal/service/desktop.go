package service

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// readGroup reads the keys of the first group of that name from a file in
// the syntax of desktop entries; nil when there is no such group. Of equal
// keys the first counts, as in dbus-daemon. Every line is checked, those of
// other groups too: a file that is broken anywhere was not meant that way.
func readGroup(text, group string) (map[string]string, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("the file is not valid UTF-8")
	}
	var keys map[string]string
	inAny, inWanted := false, false
	for number, line := 1, ""; text != ""; number++ {
		line, text = cutLine(text)
		switch {
		case strings.HasPrefix(line, "["):
			name, err := header(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			inAny = true
			inWanted = name == group && keys == nil
			if inWanted {
				keys = make(map[string]string)
			}
		case strings.HasPrefix(line, "#") || strings.Trim(line, " \t\f") == "":
		case !inAny:
			return nil, fmt.Errorf("line %d: a key stands before the first [group]", number)
		default:
			key, value, err := entry(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			if _, had := keys[key]; inWanted && key != "" && !had {
				keys[key] = value
			}
		}
	}
	return keys, nil
}

// cutLine splits off the first line. LF, CR and CRLF all end one.
func cutLine(text string) (line, rest string) {
	end := strings.IndexAny(text, "\r\n")
	if end < 0 {
		return text, ""
	}
	next := end + 1
	if strings.HasPrefix(text[end:], "\r\n") {
		next++
	}
	return text[:end], text[next:]
}

// header takes the name out of "[name]".
func header(line string) (string, error) {
	name, closed := strings.CutSuffix(line[1:], "]")
	if !closed || name == "" {
		return "", errors.New("a group header has to be [name], with nothing behind it")
	}
	for i := range len(name) {
		if c := name[i]; c < 0x20 || c >= 0x7f || c == '[' || c == ']' {
			return "", fmt.Errorf("%q may not stand in the name of a group", rune(c))
		}
	}
	return name, nil
}

// entry reads "key=value". The key is empty for a translated value
// (key[locale]=value), which a bus has no use for.
func entry(line string) (key, value string, err error) {
	end := 0
	for end < len(line) && isKeyByte(line[end]) {
		end++
	}
	if end == 0 {
		return "", "", errors.New("the line begins with no key (letters, digits and -)")
	}
	rest := line[end:]
	if strings.HasPrefix(rest, "[") {
		return "", "", nil
	}
	raw, assigned := strings.CutPrefix(strings.TrimLeft(rest, " "), "=")
	if !assigned {
		return "", "", fmt.Errorf("there is no = behind the key %s", line[:end])
	}
	value, err = unescape(strings.TrimLeft(raw, " "))
	return line[:end], value, err
}

func isKeyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-'
}

// unescape resolves \s \t \n \r and \\, the only escapes there are.
func unescape(raw string) (string, error) {
	if strings.IndexByte(raw, 0) >= 0 {
		return "", errors.New("the value has a NUL byte")
	}
	if !strings.Contains(raw, `\`) {
		return raw, nil
	}
	value := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			value = append(value, raw[i])
			continue
		}
		i++
		if i == len(raw) {
			return "", errors.New(`the value ends inside an escape: write \\ for a backslash`)
		}
		c, known := escapes[raw[i]]
		if !known {
			return "", fmt.Errorf(`the value has an unknown escape at %q: there are \s \t \n \r \\`, raw[i-1:])
		}
		value = append(value, c)
	}
	return string(value), nil
}

var escapes = map[byte]byte{'s': ' ', 't': '\t', 'n': '\n', 'r': '\r', '\\': '\\'}
