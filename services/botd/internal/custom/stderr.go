package custom

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"quartet/services/botd/internal/asked"
)

// words are those parts of a question that no log should have.
func (q question) words() []string {
	all := []string{q.Text, q.Sender, q.SenderName, q.Group, q.GroupName, fmt.Sprint(q.Timestamp)}
	for _, v := range q.Args {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// withoutWords returns a complaint in one line, with a mark in place of each word
// that is one of the given texts' too, however it is capitalised.
func withoutWords(complaint string, texts []string) string {
	hidden := make(map[string]bool)
	for _, text := range texts {
		for _, word := range strings.FieldsFunc(text, parts) {
			for _, spelled := range spellings(word) {
				hidden[asked.Fold(spelled)] = true
			}
		}
	}
	complaint = strings.ToValidUTF8(complaint, "")
	if len(complaint) >= maxStderr-utf8.UTFMax {
		complaint = strings.TrimRightFunc(complaint, func(c rune) bool { return !parts(c) }) // half a word is not told
	}
	var out strings.Builder
	for _, word := range strings.FieldsFunc(complaint, parts) {
		i := strings.Index(complaint, word)
		out.WriteString(complaint[:i])
		complaint = complaint[i+len(word):]
		if hidden[asked.Fold(word)] {
			word = "…"
		}
		out.WriteString(word)
	}
	out.WriteString(complaint)
	return strings.Join(strings.Fields(out.String()), " ")
}

// spellings are a word and the pieces of it as programs write what is not ASCII:
// \u0142, %C5%82, \xc5\x82.
func spellings(word string) []string {
	all := []string{word}
	if strings.IndexFunc(word, func(c rune) bool { return c > unicode.MaxASCII }) >= 0 {
		percent := url.QueryEscape(word)
		for _, spelled := range []string{strconv.QuoteToASCII(word), percent, strings.ReplaceAll(percent, "%", `\x`)} {
			all = append(all, strings.FieldsFunc(spelled, parts)...)
		}
	}
	return all
}

// parts reports whether c is between words.
func parts(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) }
