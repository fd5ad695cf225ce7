package commandfile_test

import (
	"errors"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/commandfile"
)

// Whatever stands in a file: what is taken keeps the promises, what is not has
// faults on lines that there are.
func FuzzParse(f *testing.F) {
	example, err := os.ReadFile(examplePath)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	for _, seed := range []string{
		"", "a", "[[command]]", "[command]", "command = 1", "command = [1, {}]", "[[command]]\n[[command.params]]\n[command.http.header]",
		"[[command]]\nname = \"x\"\nhelp = \"x\"\ntext = \"x\"", "command = [{ name = \"x\", help = \"x\", http = { url = \"http://h/{words}\" } }]",
		"[[schedule]]\nname = \"x\"\ncron = \"TZ=\"\nzone = \"\"", "\"command.0\" = 1", "[[command]]\nname = 2026-11-30", "command.x.y = [[[]]]", "[[command.x]]\n[[command]]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := commandfile.Parse(data)
		if err != nil {
			all, ok := errors.AsType[commandfile.Faults](err)
			if !ok || len(all) == 0 {
				t.Fatalf("no faults: %v", err)
			}
			for _, fault := range all {
				if fault.Line < 0 || fault.Line > strings.Count(string(data), "\n")+1 || fault.What == "" {
					t.Errorf("fault %+v", fault)
				}
			}
			return
		}
		for _, c := range file.Commands {
			if err := errors.Join(asked.CheckName(c.Name), asked.CheckParams(c.Params)); err != nil || c.Line < 1 {
				t.Errorf("%+v: %v", c, err)
			}
			if c.HTTP != nil {
				sameHost(t, c.HTTP.URL)
			}
		}
		for _, s := range file.Schedules {
			if s.Plan == nil || len(s.Chats) == 0 || (s.Text == "") == (s.Command == "") {
				t.Errorf("%+v", s)
			}
		}
		if again, err := commandfile.Parse(data); err != nil || !reflect.DeepEqual(again, file) {
			t.Errorf("read in two ways: %v", err)
		}
	})
}

// What people write never chooses whom the bot asks.
func sameHost(t *testing.T, tpl commandfile.Template) {
	t.Helper()
	var host string
	for _, words := range []string{"x", "y", ""} {
		u, err := url.Parse(tpl.Fill(func(string) string { return words }))
		if err != nil || u.Host == "" || host != "" && u.Host != host {
			t.Fatalf("%v: with %q it is %v, %v", tpl, words, u, err)
		}
		host = u.Host
	}
}
