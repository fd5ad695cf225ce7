package policy_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/wire"
)

var update = flag.Bool("update", false, "rewrite the verdicts in testdata")

// A file in testdata has <policy> elements up to a line "--", then questions,
// each followed by its verdict on an indented line. "as" changes who asks.
func TestVerdicts(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := answers(t, string(data))
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(data) {
				t.Errorf("run with -update and read the difference; got\n%s", got)
			}
		})
	}
}

// answers is the file with all verdicts as they are.
func answers(t *testing.T, data string) string {
	t.Helper()
	policies, questions, _ := strings.Cut(data, "\n--\n")
	set := compile(t, policies)
	id := alice
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n--\n", policies)
	for line := range strings.Lines(questions) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "    ") {
			continue
		}
		b.WriteString(line + "\n")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if fields[0] == "as" {
			id = identity(t, fields[1:])
			continue
		}
		fmt.Fprintf(&b, "    %s\n", answer(t, set, id, fields))
	}
	return b.String()
}

func answer(t *testing.T, set *policy.Set, id policy.Identity, fields []string) string {
	t.Helper()
	c := set.For(id)
	switch fields[0] {
	case "connect":
		return set.MayConnect(id, 101).String()
	case "own":
		return c.CanOwn(fields[1]).String()
	case "all":
		return fmt.Sprintf("sends %t receives %t", c.SendsAll(), c.ReceivesAll())
	}
	m, side, eavesdropping := message(t, fields[1:])
	if fields[0] == "send" {
		return c.CanSend(&m, side).String()
	}
	return c.CanReceive(&m, side, eavesdropping).String()
}

// identity reads uid=, gid= (several), console, anonymous.
func identity(t *testing.T, fields []string) policy.Identity {
	t.Helper()
	id := policy.Identity{Known: true}
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		n, _ := strconv.ParseUint(value, 10, 32)
		switch key {
		case "uid":
			id.UID = uint32(n)
		case "gid":
			id.GIDs = append(id.GIDs, uint32(n))
		case "console":
			id.Console = true
		case "anonymous":
			id.Known = false
		default:
			t.Fatalf("unknown %q", f)
		}
	}
	return id
}

// message reads the fields of a message; with= (several) names the other side.
func message(t *testing.T, fields []string) (m policy.Message, side policy.Names, eavesdropping bool) {
	t.Helper()
	types := map[string]wire.Type{"call": wire.MethodCall, "return": wire.MethodReturn, "error": wire.ErrorReply, "signal": wire.Signal}
	m.Type = types[fields[0]]
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "interface":
			m.Interface = value
		case "member":
			m.Member = value
		case "path":
			m.Path = value
		case "error":
			m.ErrorName = value
		case "to":
			m.Destination = value
		case "fds":
			n, _ := strconv.ParseUint(value, 10, 32)
			m.UnixFDs = uint32(n)
		case "requested":
			m.RequestedReply = true
		case "eavesdropping":
			eavesdropping = true
		case "with":
			side = append(side, value)
		default:
			t.Fatalf("unknown %q", f)
		}
	}
	return m, side, eavesdropping
}
