package said

// Catalogues are all sentences by key, Polish and English, for the tests that
// compare them.
func Catalogues() (polish, english []string) { return pl[:], en[:] }

// Form is the plural form of n.
var Form = form

// Harmless is what values from people go through.
func Harmless(s string) string { return harmless(s, maxTheirs) }
