// Package asked reads what people write as commands: which command a text
// calls, what it was given, and what a mistyped name probably meant.
//
// People write on phones. A name is found whatever its capitals, with Polish
// letters or without (ł too), composed or not; spaces of every kind, invisible
// marks and mentions may stand before the command; a comma behind the name does
// not matter. A command begins with one of the prefixes, or with a mention of
// the bot itself.
//
// It is pure: texts in, values out. Every text and every span of a mention is
// taken as hostile: nothing panics, and the work is linear in the text.
package asked

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxName is how many bytes a command's name may have, as typed. A longer word
// is nobody's command.
const maxName = 128

// Self is the bot's own account, to tell a mention of the bot from others.
// What is not known is empty.
type Self struct {
	UUID   string
	Number string // as registered, as +15550100000
}

// is reports whether m mentions the account.
func (s Self) is(m Mention) bool {
	return s.UUID != "" && strings.EqualFold(m.UUID, s.UUID) || s.Number != "" && m.Number == s.Number
}

// Call is one text that is addressed to the bot.
type Call struct {
	Name      string    // the command's name, folded; empty for a mere mention of the bot
	Typed     string    // the name as it was typed; it is the user's text
	Mentioned bool      // the bot was mentioned before the name; then a prefix is not needed
	Text      string    // what stands behind the name, composed (NFC), without mentions
	Mentions  []Mention // those mentioned, in the text's order, without the bot before the name
}

// Reader reads texts as commands. It is immutable and safe for concurrent use.
type Reader struct {
	prefixes []string // the longest first
	self     Self
}

// NewReader returns a reader of commands that begin with one of prefixes. The
// error names each prefix that cannot be one.
func NewReader(prefixes []string, self Self) (*Reader, error) {
	var errs []error
	if len(prefixes) == 0 {
		errs = append(errs, errors.New("no prefix"))
	}
	for _, p := range prefixes {
		if err := checkPrefix(p); err != nil {
			errs = append(errs, fmt.Errorf("prefix %q: %w", p, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	r := &Reader{prefixes: slices.Clone(prefixes), self: self}
	slices.SortStableFunc(r.prefixes, func(a, b string) int { return len(b) - len(a) })
	return r, nil
}

// checkPrefix refuses what would never match, or would match ordinary words.
func checkPrefix(p string) error {
	last, _ := utf8.DecodeLastRuneInString(p)
	switch {
	case p == "":
		return errors.New("is empty")
	case !utf8.ValidString(p):
		return errors.New("is not UTF-8")
	case strings.IndexFunc(p, blank) >= 0:
		return errors.New("has a space or an invisible mark in it")
	case inWord(last):
		return errors.New("must end in a sign, not in a letter or digit")
	}
	return nil
}

// Addressed reports whether Read would find a call in the text. It allocates
// nothing for up to 8 mentions: it is asked about everything that people write.
func (r *Reader) Addressed(text string, mentions []Mention) bool {
	var room [8]placed
	_, ok := r.head(text, mentions, place(room[:0], text, mentions))
	return ok
}

// Read reads a text with its mentions; ok is false when it is not addressed to
// the bot. Mentions with a broken span are as if they were not there. Whether
// there is a command of that name is not its business.
func (r *Reader) Read(text string, mentions []Mention) (_ Call, ok bool) {
	var room [8]placed
	spots := place(room[:0], text, mentions)
	h, ok := r.head(text, mentions, spots)
	if !ok {
		return Call{}, false
	}
	c := Call{
		Typed:     norm.NFC.String(h.name),
		Mentioned: h.mentioned,
		Text:      norm.NFC.String(without(text, h.end, spots[h.spot:])),
	}
	c.Name = Fold(c.Typed)
	for i, s := range spots {
		m := mentions[s.of]
		if i < h.spot && r.self.is(m) {
			continue // an address, not an argument
		}
		c.Mentions = append(c.Mentions, m)
	}
	return c, true
}

// head is the beginning of a text, up to the command's name.
type head struct {
	name      string // without what is no part of a word around it
	mentioned bool
	end       int // where the name ends in the text
	spot      int // the first mention behind the name
}

// head reads the beginning of a text; ok is false when it calls nobody.
func (r *Reader) head(text string, mentions []Mention, spots []placed) (h head, ok bool) {
	pos := r.skip(&h, 0, text, mentions, spots)
	prefix := r.prefix(text[pos:h.limit(text, spots)])
	if prefix == 0 && !h.mentioned {
		return head{}, false
	}
	if prefix > 0 {
		pos = r.skip(&h, pos+prefix, text, mentions, spots)
	}
	h.end = h.limit(text, spots)
	if i := strings.IndexFunc(text[pos:h.end], separates); i >= 0 {
		h.end = pos + i
	}
	word := text[pos:h.end]
	if word == "" {
		return h, prefix == 0 // "@bot" alone asks for something, "!" alone does not
	}
	first, _ := utf8.DecodeRuneInString(word)
	if len(word) > maxName || !startsName(first) {
		return head{}, false // "!!!" and "!?" call nobody
	}
	h.name = strings.TrimRightFunc(word, func(c rune) bool { return !inWord(c) }) // "!kot," and "!kot!"
	return h, true
}

// limit returns where the next mention begins, which ends any word, or the text.
func (h *head) limit(text string, spots []placed) int {
	if h.spot < len(spots) {
		return spots[h.spot].from
	}
	return len(text)
}

// skip passes what may stand before a name, blanks, mentions and the comma of
// "@bot, kot", and returns where the rest begins.
func (r *Reader) skip(h *head, pos int, text string, mentions []Mention, spots []placed) int {
	for pos < len(text) {
		if h.spot < len(spots) && spots[h.spot].from == pos {
			h.mentioned = h.mentioned || r.self.is(mentions[spots[h.spot].of])
			pos = spots[h.spot].to
			h.spot++
			continue
		}
		c, size := utf8.DecodeRuneInString(text[pos:])
		if !blank(c) && !(h.mentioned && strings.ContainsRune(",:;-–—", c)) {
			return pos
		}
		pos += size
	}
	return pos
}

// prefix returns the length of the longest prefix that text begins with,
// whatever its capitals, or 0.
func (r *Reader) prefix(text string) int {
	for _, p := range r.prefixes {
		if len(text) >= len(p) && strings.EqualFold(text[:len(p)], p) {
			return len(p)
		}
	}
	return 0
}

// without returns text from pos on, with a space in the place of each mention
// unless there is one already, and without blanks around it all.
func without(text string, pos int, spots []placed) string {
	if len(spots) == 0 && !strings.ContainsRune(text[pos:], placeholder) {
		return trim(text[pos:])
	}
	var out strings.Builder
	spaced := true // out is empty or ends in a space
	gap := false   // a mention was left out and nothing written since
	add := func(s string) {
		for _, c := range s {
			switch {
			case c == placeholder:
				gap = true
				continue
			case gap && !spaced && !unicode.IsSpace(c):
				out.WriteByte(' ')
			case gap && spaced && unicode.IsSpace(c):
				continue
			}
			out.WriteRune(c)
			spaced, gap = unicode.IsSpace(c), false
		}
	}
	for _, s := range spots {
		add(text[pos:s.from])
		gap = true
		pos = s.to
	}
	add(text[pos:])
	return trim(out.String())
}
