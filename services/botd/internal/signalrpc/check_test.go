package signalrpc_test

import (
	"errors"
	"strings"
	"testing"

	"quartet/services/botd/internal/transport"
)

func TestCheckFindsOutWhetherTheServerServesUs(t *testing.T) {
	const well = `{"version":"0.14.6"}`
	for name, c := range map[string]struct {
		version, accounts string // results; "CODE TEXT" with a minus for a refusal
		class             transport.Class
		warned            string
		wrong             bool
	}{
		"all well":             {well, `[{"number":"+1"},{"number":"` + number + `"}]`, "", "", false},
		"an old version":       {`{"version":"0.14.1"}`, `[{"number":"` + number + `"}]`, "", "signal_cli_slow_groups signal_cli_slow_unregistered", false},
		"another account":      {well, `[{"number":"+1"}]`, transport.ClassAccount, "", true},
		"no account, and old":  {`{"version":"0.14.5"}`, `[]`, transport.ClassAccount, "signal_cli_slow_unregistered", true},
		"for one account only": {well, `-32601 Method not implemented`, "", "signal_cli_one_account", false},
		"out of order":         {`-32603 boom`, `[]`, transport.ClassUnknown, "", true},
		"talks nonsense":       {`[]`, `[]`, "", "", true},
		"lists nonsense":       {well, `{}`, "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			client := piped(t, func(p *peer) {
				for {
					r, ok := p.next()
					if !ok {
						return
					}
					answer := c.version
					if r.Method == "listAccounts" {
						answer = c.accounts
					}
					if code, text, ok := strings.Cut(answer, " "); ok && strings.HasPrefix(code, "-") {
						p.say(`{"id":%s,"error":{"code":%s,"message":%q}}`, r.ID, code, text)
					} else {
						p.result(r, answer)
					}
				}
			})
			warnings, err := client.Check(t.Context())
			e, refused := errors.AsType[*transport.Error](err)
			if (err != nil) != c.wrong || refused != (c.class != "") || refused && e.Class != c.class {
				t.Errorf("got %v", err)
			}
			var names []string
			for _, w := range warnings {
				names = append(names, w.Name)
			}
			if got := strings.Join(names, " "); got != c.warned {
				t.Errorf("warned of %q, want %q", got, c.warned)
			}
			if err != nil && strings.Contains(err.Error(), number) {
				t.Error("the error has our number")
			}
		})
	}
}
