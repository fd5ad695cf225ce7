package service

import (
	"errors"
	"strings"
)

// What can be wrong with a command line.
var (
	ErrUnclosedQuote = errors.New("a quote or a backslash at the end of the command line is left open")
	ErrNoWords       = errors.New("the command line has no words")
)

// Words splits a command line as the POSIX shell does (2.2 Quoting, 2.3
// Token Recognition), without any expansion: $, `, *, ~, |, > and the like
// stand for themselves. A # begins a comment only where a word could begin.
// There is at least one word unless the error is ErrUnclosedQuote or
// ErrNoWords.
func Words(command string) ([]string, error) {
	var words []string
	var word []byte
	inWord := false // also true for "", which is a word of no bytes
	for i := 0; i < len(command); {
		switch c := command[i]; c {
		case ' ', '\t', '\n':
			if inWord {
				words, word, inWord = append(words, string(word)), word[:0], false
			}
			i++
		case '\\':
			if i+1 == len(command) {
				return nil, ErrUnclosedQuote
			}
			if escaped := command[i+1]; escaped != '\n' {
				word, inWord = append(word, escaped), true
			}
			i += 2
		case '\'':
			length := strings.IndexByte(command[i+1:], '\'')
			if length < 0 {
				return nil, ErrUnclosedQuote
			}
			word, inWord = append(word, command[i+1:i+1+length]...), true
			i += length + 2
		case '"':
			var closed bool
			if word, i, closed = appendDoubleQuoted(word, command, i+1); !closed {
				return nil, ErrUnclosedQuote
			}
			inWord = true
		default:
			if c == '#' && !inWord {
				i = skipLine(command, i)
				continue
			}
			word, inWord = append(word, c), true
			i++
		}
	}
	if inWord {
		words = append(words, string(word))
	}
	if len(words) == 0 {
		return nil, ErrNoWords
	}
	return words, nil
}

// appendDoubleQuoted appends what stands in double quotes from i on; next is
// behind the closing quote. A backslash quotes only $ ` " \ there, and
// joins lines; before anything else it stands for itself.
func appendDoubleQuoted(word []byte, command string, i int) (_ []byte, next int, closed bool) {
	for ; i < len(command); i++ {
		switch c := command[i]; {
		case c == '"':
			return word, i + 1, true
		case c == '\\' && i+1 < len(command) && strings.IndexByte("$`\"\\\n", command[i+1]) >= 0:
			i++
			if command[i] != '\n' {
				word = append(word, command[i])
			}
		default:
			word = append(word, c)
		}
	}
	return word, i, false
}

// skipLine is the index of the next newline, or the end.
func skipLine(command string, i int) int {
	if length := strings.IndexByte(command[i:], '\n'); length >= 0 {
		return i + length
	}
	return len(command)
}
