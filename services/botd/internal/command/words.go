package command

import (
	"errors"
	"slices"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/rules"
	"quartet/services/botd/internal/said"
)

// oneOf reports whether typed is one of the names of a choice.
func oneOf(typed string, names []string) bool {
	typed = asked.Fold(typed)
	return slices.ContainsFunc(names, func(name string) bool { return asked.Fold(name) == typed })
}

// inLang is a choice's name in a language: the Polish one is the first.
func inLang(lang said.Lang, names []string) string {
	if lang == said.English {
		return names[1]
	}
	return names[0]
}

// done answers with words, unless there is an error.
func done(words string, err error) (Reply, error) {
	if err != nil {
		return Reply{}, err
	}
	return Reply{Text: words}, nil
}

// decided is done for what admins decide, of which only so much is kept: that is
// for them to put right.
func decided(lang said.Lang, words string, err error) (Reply, error) {
	if errors.Is(err, rules.ErrTooMany) {
		return Reply{Text: lang.TooManyKept()}, nil
	}
	return done(words, err)
}
