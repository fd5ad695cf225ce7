package asked

import "unicode/utf8"

// Option is one name that somebody may call.
type Option struct {
	Name    string // a name or an alias
	Command string // the command behind it; two aliases of one command are not ambiguous
}

// Nearest returns the option whose name typed most probably meant: the nearest
// one, if it is near and no other command is as near. Options are those that
// the asker may use where they asked, or the answer would tell of others.
//
// Names of up to 2 letters have nothing near them, of up to 5 one mistake is
// near, of longer ones two; a mistake is a letter too much, missing, wrong, or
// swapped with its neighbour.
func Nearest(typed string, options []Option) (_ Option, ok bool) {
	typed = Fold(typed)
	if typed == "" || len(typed) > maxName {
		return Option{}, false
	}
	letters := []rune(typed)
	var found Option
	best, tied := 3, false // more than any distance that counts
	for _, o := range options {
		name := Fold(o.Name)
		n := utf8.RuneCountInString(name)
		near := nearness(max(n, len(letters)))
		if n-len(letters) > near || len(letters)-n > near {
			continue
		}
		switch d := distance(letters, []rune(name)); {
		case d > near || d > best:
		case d < best:
			found, best, tied = o, d, false
		case o.Command != found.Command:
			tied = true
		}
	}
	if tied || found == (Option{}) {
		return Option{}, false
	}
	return found, true
}

// nearness is how many mistakes a name of that many letters may have.
func nearness(letters int) int {
	switch {
	case letters < 3:
		return 0
	case letters < 6:
		return 1
	}
	return 2
}

// distance is how many mistakes lie between two words (Damerau and Levenshtein,
// in the restricted form: no letter is touched twice).
func distance(a, b []rune) int {
	rows := make([]int, 3*(len(b)+1))
	before, above, row := rows[:len(b)+1], rows[len(b)+1:2*(len(b)+1)], rows[2*(len(b)+1):]
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row = above, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			wrong := 1
			if a[i-1] == b[j-1] {
				wrong = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+wrong)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
