package command

import (
	"context"
	"strings"
)

// Pomoc answers with the list of commands, itself among them. Its text is made
// once: it is what the bot's own share is measured with.
func Pomoc(prefix string, others ...*Command) *Command {
	pomoc := &Command{Name: "pomoc", Help: "ta lista"}
	var text strings.Builder
	text.WriteString("Umiem:")
	for _, c := range append([]*Command{pomoc}, others...) {
		text.WriteString("\n" + prefix + c.Name + " – " + c.Help)
	}
	answer := Reply{Text: text.String()}
	pomoc.Run = func(context.Context, Request) (Reply, error) { return answer, nil }
	return pomoc
}
