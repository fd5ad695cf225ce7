// Package compose_test tries the stack of deploy/compose as a user sees it: on
// an engine, through its published ports. deploy/test/run.sh brings the engine
// and runs it; elsewhere it is skipped.
package compose_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"quartet/e2e/internal/stack"
)

// The published ports, as .env.example has them.
const (
	signal       = "http://127.0.0.1:8080"
	web          = "http://127.0.0.1:8081"
	botd         = "http://127.0.0.1:9101"
	busd         = "http://127.0.0.1:9102"
	prometheus   = "http://127.0.0.1:9090"
	alertmanager = "http://127.0.0.1:9093"
	jaeger       = "http://127.0.0.1:16686"
)

// spacing is between messages: signal-cli-rest-api, and who plays it, may lose
// some that come in a burst.
const spacing = 100 * time.Millisecond

// down is the alert that a stopped service raises.
const down = "QuartetTargetDown"

func TestStackAnswersIsWatchedAndLeavesNothing(t *testing.T) {
	s := newStack(t)
	s.up(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"healthy", s.healthy},
		{"confined", s.confined},
		{"chat", s.chat},
		{"bus", bus},
		{"metrics", metrics},
		{"targets", targets},
		{"traces", traces},
		{"alert", s.alert},
		{"state", s.state},
	} {
		if !t.Run(step.name, step.run) {
			return
		}
	}
}

// The live stack is not tried against Signal: the simulator plays
// signal-cli-rest-api, at first without an account. What README.md tells to do
// makes a bot of it that answers.
func TestLiveStackAnswersWhoWritesToIt(t *testing.T) {
	s := newStack(t)
	s.env = append(s.env, "COMPOSE_PROFILES=live", "BOTD_NUMBER="+stack.Number)
	s.up(t)
	if code := s.compose(t, "run", "--rm", "-T", "botd-live", "link"); !strings.Contains(code, "█") || !strings.Contains(code, "linked") {
		t.Errorf("no code to scan in %q", code)
	}
	s.healthy(t)
	sim := stack.Sim{URL: signal}
	sim.Say(t, 0, stack.Frame{Text: "!pomoc", Sender: "00000000-0000-4000-8000-000000000001"})
	if sends, _ := sim.Sends(t, 0, stack.Patience); len(sends) != 1 || !strings.Contains(sends[0].Message, "!pomoc") {
		t.Errorf("sent %+v", sends)
	}
	targets(t)
}

// Grafana is not to be had here; that its part is sound can be told all the same.
func TestAllProfilesTogetherAreWellFormed(t *testing.T) {
	s := newStack(t)
	s.env = append(s.env, "COMPOSE_PROFILES=sim,live,grafana", "BOTD_NUMBER=+15550100009")
	got := s.compose(t, "config")
	for _, want := range []string{"botd-live", "signal-api", "grafana", "+15550100009", "json-rpc"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// Every variable is explained in .env.example with the value that it has, and
// .env sets none that is not.
func TestEveryVariableIsExplained(t *testing.T) {
	dir := filepath.Join(stack.Root(), "deploy", "compose")
	read := func(name string) string {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	explained := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^([A-Z_]+)=(.*)$`).FindAllStringSubmatch(read(".env.example"), -1) {
		explained[line[1]] = line[2]
	}
	used := regexp.MustCompile(`\$\{([A-Z_]+):-([^}]*)\}`)
	for _, use := range used.FindAllStringSubmatch(read("compose.yaml")+read("compose.observability.yaml"), -1) {
		if value, is := explained[use[1]]; !is || value != use[2] {
			t.Errorf("%s is %q by default; .env.example has %q (%t)", use[1], use[2], value, is)
		}
	}
	for _, line := range regexp.MustCompile(`(?m)^([A-Z_]+)=(.*)$`).FindAllStringSubmatch(read(".env"), -1) {
		if value, is := explained[line[1]]; !is || value != line[2] {
			t.Errorf(".env: %s=%s, .env.example has %q (%t)", line[1], line[2], value, is)
		}
	}
}

// up starts the stack, and sees to it that nothing of it stays.
func (s *composed) up(t *testing.T) {
	s.compose(t, "up", "-d", "--build")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.compose(t, "logs", "--no-color", "--tail", "30"))
		}
		s.compose(t, "down", "-v", "--remove-orphans")
		s.nothing(t)
	})
}

// nothing reports what the engine still has of the stack.
func (s *composed) nothing(t *testing.T) {
	for _, list := range [][]string{{"container", "ls", "-a"}, {"volume", "ls"}, {"network", "ls"}} {
		if left := s.docker(t, append(list, "-q", "--filter", ours)...); left != "" {
			t.Errorf("left behind, a %s: %s", list[0], left)
		}
	}
}

// healthy waits for every container that has a health check.
func (s *composed) healthy(t *testing.T) {
	stack.Eventually(t, "all containers are healthy", func() error {
		for _, c := range s.containers(t) {
			if health := c.State.Health; c.State.Status != "running" || health != nil && health.Status != "healthy" {
				return fmt.Errorf("%s is %s, %+v", c.Name, c.State.Status, health)
			}
		}
		return nil
	})
}

// confined reads of every container what it may do, as the engine sees it.
func (s *composed) confined(t *testing.T) {
	for _, c := range s.containers(t) {
		h := c.HostConfig
		if !h.ReadonlyRootfs || !slices.Contains(h.CapDrop, "ALL") || len(h.CapAdd) > 0 || h.Privileged ||
			!slices.Contains(h.SecurityOpt, "no-new-privileges:true") || h.Memory == 0 || h.PidsLimit == nil || *h.PidsLimit <= 0 {
			t.Errorf("%s may do too much: %+v", c.Name, h)
		}
		if user := c.Config.User; user == "" || strings.HasPrefix(user, "0") || strings.HasPrefix(user, "root") {
			t.Errorf("%s runs as %q", c.Name, user)
		}
		for port, bindings := range h.PortBindings {
			for _, b := range bindings {
				if b.HostIP != "127.0.0.1" {
					t.Errorf("%s: %s is published on %q", c.Name, port, b.HostIP)
				}
			}
		}
	}
}

// chat asks in the group for a text and a picture.
func (s *composed) chat(t *testing.T) {
	sim := stack.Sim{URL: signal}
	sim.Say(t, spacing, s.asked...)
	var texts, pictures int
	var after int64
	for deadline := time.Now().Add(stack.Patience); texts == 0 || pictures == 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d texts and %d pictures came", texts, pictures)
		}
		var sends []stack.Sent
		sends, after = sim.Sends(t, after, time.Second)
		for _, sent := range sends {
			switch {
			case len(sent.Attachments) == 1 && strings.HasPrefix(sent.Attachments[0].ContentType, "image/"):
				pictures++
			case strings.Contains(sent.Message, "!pomoc"):
				texts++
			}
		}
	}
	if searches := (stack.Sim{URL: web}).Number(t, "searches"); searches == 0 {
		t.Error("the picture site was not asked")
	}
}

// bus looks whether the programs on the bus hear each other, and Prometheus the
// bus.
func bus(t *testing.T) {
	stack.Eventually(t, "messages pass", func() error {
		m := stack.Metrics(get(t, busd+"/metrics"))
		if connections, passed := m.Sum("quartet_busd_connections"), m.Sum("quartet_busd_deliveries_total"); connections < 5 || passed < 50 {
			return fmt.Errorf("%g connections, %g messages", connections, passed)
		}
		return nil
	})
	stack.Eventually(t, "Prometheus has the batches", func() error {
		if n := query(t, `sum(quartet_request_duration_seconds_count{job="busd",instance="busd:9102"})`); n == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})
}

func metrics(t *testing.T) {
	m := stack.Metrics(get(t, botd+"/metrics"))
	for _, operation := range []string{"kot", "pomoc"} {
		if n := m.Sum("quartet_request_duration_seconds_count", `operation="`+operation+`"`); n == 0 {
			t.Errorf("no %s was counted", operation)
		}
	}
}

// targets asks Prometheus whether it finds everybody, and what botd told it.
func targets(t *testing.T) {
	stack.Eventually(t, "Prometheus finds all its targets", func() error {
		var answer struct {
			Data struct {
				ActiveTargets []struct{ ScrapePool, Health, LastError string }
			}
		}
		getJSON(t, prometheus+"/api/v1/targets?state=active", &answer)
		jobs := 0
		for _, target := range answer.Data.ActiveTargets {
			if target.Health != "up" {
				return fmt.Errorf("%s is %s: %s", target.ScrapePool, target.Health, target.LastError)
			}
			if target.ScrapePool == "botd" {
				jobs++
			}
		}
		if jobs != 1 {
			return fmt.Errorf("%d targets of botd", jobs)
		}
		return nil
	})
	stack.Eventually(t, "Prometheus has the requests", func() error {
		if n := query(t, `sum(quartet_request_duration_seconds_count{job="botd"})`); n == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})
}

// traces asks the sink for what a request's span says.
func traces(t *testing.T) {
	stack.Eventually(t, "spans come where Jaeger would be", func() error {
		var answer struct {
			Exports int
			Found   map[string]bool
		}
		getJSON(t, jaeger+"/exports", &answer)
		if answer.Exports == 0 || !answer.Found["botd"] || !answer.Found["quartet.timing.send"] {
			return fmt.Errorf("so far %+v", answer)
		}
		return nil
	})
}

// alert stops the bot, which has to be a clean stop, and starts it again.
func (s *composed) alert(t *testing.T) {
	s.compose(t, "stop", "botd")
	for _, c := range s.containers(t) {
		if strings.Contains(c.Name, "botd") && c.State.ExitCode != 0 {
			t.Errorf("%s ended with code %d", c.Name, c.State.ExitCode)
		}
	}
	stack.Eventually(t, down+" is in Alertmanager", func() error { return firing(t, true) })
	s.compose(t, "start", "botd")
	s.healthy(t)
	stack.Eventually(t, down+" is over", func() error { return firing(t, false) })
}

// firing returns an error while Alertmanager does not see the alert as wanted.
func firing(t *testing.T, want bool) error {
	var alerts []struct {
		Labels map[string]string
		Status struct{ State string }
	}
	getJSON(t, alertmanager+"/api/v2/alerts?active=true", &alerts)
	for _, a := range alerts {
		if a.Labels["alertname"] == down && a.Labels["job"] == "botd" {
			if want {
				return nil
			}
			return fmt.Errorf("it still is there")
		}
	}
	if want {
		return fmt.Errorf("there is none in %+v", alerts)
	}
	return nil
}

// state makes a new container. The bot's journal is in a volume, so it knows the
// messages that the old one has answered.
func (s *composed) state(t *testing.T) {
	s.compose(t, "up", "-d", "--no-deps", "--force-recreate", "botd")
	s.healthy(t)
	stack.Sim{URL: signal}.Say(t, spacing, s.asked...)
	stack.Eventually(t, "messages that come again are known", func() error {
		if n := stack.Metrics(get(t, botd+"/metrics")).Sum("quartet_botd_dropped_total", `reason="duplicate"`); int(n) != len(s.asked) {
			return fmt.Errorf("%g of %d", n, len(s.asked))
		}
		return nil
	})
}

// quick copies the configuration of Prometheus with intervals for a test: all
// that it does every few seconds or minutes, it does every second or two.
func quick(t *testing.T, from, to string) {
	t.Helper()
	intervals := regexp.MustCompile(`(?m)^(\s*)(scrape_interval|evaluation_interval|scrape_timeout|interval):.*$`)
	waits := regexp.MustCompile(`(?s)(- alert: ` + down + `\n.*?\n\s*for:) [0-9a-z]+`)
	changed := false
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := intervals.ReplaceAllString(string(raw), "${1}${2}: 1s")
		changed = changed || waits.MatchString(text)
		text = waits.ReplaceAllString(text, "${1} 2s")
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, []byte(text), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	if !changed {
		t.Fatalf("no alert %s with a wait in %s", down, from)
	}
}
