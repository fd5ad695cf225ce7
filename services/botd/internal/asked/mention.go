package asked

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// placeholder stands in a text where a mention is shown. One that no mention
// claims shows nothing.
const placeholder = '\uFFFC'

const (
	maxMentions     = 64  // how many of a text are looked at; the others are as if they were not there
	maxMentionUnits = 128 // how long one may be; clients write a single placeholder
)

// Mention is somebody mentioned in a text, as the wire has it. Any field may be
// empty and any span wrong.
type Mention struct {
	Start, Length int // in the text, UTF-16 code units
	UUID          string
	Number        string
}

// placed is a mention whose span is sound.
type placed struct {
	from, to int // in the text, bytes
	of       int // index of the mention
}

// place finds the mentions in the text and appends them to spots, in the text's
// order and without overlaps: of two that overlap the first one counts.
func place(spots []placed, text string, mentions []Mention) []placed {
	if len(mentions) == 0 {
		return spots
	}
	mentions = mentions[:min(len(mentions), maxMentions)]
	for i, m := range mentions {
		if m.Start >= 0 && m.Length > 0 && m.Length <= maxMentionUnits {
			spots = append(spots, placed{from: m.Start, to: m.Length, of: i})
		}
	}
	slices.SortStableFunc(spots, func(a, b placed) int { return cmp.Compare(a.from, b.from) })
	sound := spots[:0]
	at := cursor{text: text}
	for _, s := range spots {
		if !at.forward(s.from - at.units) {
			continue
		}
		end := at
		if !end.forward(s.to) {
			continue
		}
		sound = append(sound, placed{from: at.bytes, to: end.bytes, of: s.of})
		at = end
	}
	return sound
}

// Bytes turns a span of UTF-16 code units, as Signal counts, into byte offsets.
// ok is false when the span lies outside the text or cuts a character of two
// units. A byte that is no UTF-8 counts as one unit, as U+FFFD would.
func Bytes(text string, start, length int) (from, to int, ok bool) {
	at := cursor{text: text}
	if !at.forward(start) {
		return 0, 0, false
	}
	from = at.bytes
	if !at.forward(length) {
		return 0, 0, false
	}
	return from, at.bytes, true
}

// Units turns byte offsets into a span of UTF-16 code units. ok is false when
// they lie outside the text, are reversed or cut a character.
func Units(text string, from, to int) (start, length int, ok bool) {
	if from < 0 || to < from || to > len(text) {
		return 0, 0, false
	}
	at := cursor{text: text}
	for at.bytes < from {
		at.step()
	}
	start = at.units
	ok = at.bytes == from
	for at.bytes < to {
		at.step()
	}
	if !ok || at.bytes != to {
		return 0, 0, false
	}
	return start, at.units - start, true
}

// cursor is a place in a text, counted both ways.
type cursor struct {
	text         string
	bytes, units int
}

// step moves over one code point.
func (c *cursor) step() {
	r, size := utf8.DecodeRuneInString(c.text[c.bytes:])
	c.bytes += size
	c.units++
	if r > 0xFFFF {
		c.units++
	}
}

// forward moves by units. It reports whether that ended in the text and between
// two characters; a negative number never does.
func (c *cursor) forward(units int) bool {
	if units < 0 || units > len(c.text)-c.bytes {
		return false // no text has more units than bytes
	}
	target := c.units + units
	for c.units < target && c.bytes < len(c.text) {
		c.step()
	}
	return c.units == target
}
