package asked_test

import (
	"strings"
	"testing"

	"quartet/services/botd/internal/asked"
)

// BenchmarkAddressed is what every text costs on the reader's goroutine.
func BenchmarkAddressed(b *testing.B) {
	r := reader(b)
	for name, text := range map[string]string{
		"chatter":   "jutro o ósmej pod mostem, kto jedzie?",
		"command":   "!kot rudy",
		"mention":   "\ufffc, kot",
		"blank64KB": strings.Repeat("\u00a0", 1<<15),
	} {
		b.Run(name, func(b *testing.B) {
			mentions := []asked.Mention{at(0, botUUID)}
			b.ReportAllocs()
			for b.Loop() {
				r.Addressed(text, mentions)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	r := reader(b)
	for name, text := range map[string]string{
		"short":    "!kot",
		"polish":   "!Włącz kot proszę",
		"text64KB": "!tekst " + strings.Repeat("zażółć ", 1<<12),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Read(text, nil)
			}
		})
	}
}
