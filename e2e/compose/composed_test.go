package compose_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"quartet/e2e/internal/stack"
)

// composed is the stack and how to talk to its engine.
type composed struct {
	command []string // Compose
	env     []string
	asked   []stack.Frame // what people write to the bot
}

// ours is how the engine knows what belongs to the stack.
const ours = "label=com.docker.compose.project=quartet"

// override has Prometheus read its quicker configuration.
const override = `services:
  prometheus:
    volumes: ["%DIR%/prometheus:/etc/prometheus:ro"]
`

// newStack does not start anything. When the test fails half-way, what it
// started goes with the engine.
func newStack(t *testing.T) *composed {
	command := strings.Fields(os.Getenv("QUARTET_COMPOSE"))
	if len(command) == 0 {
		t.Skip("deploy/test/run.sh brings the engine that this needs")
	}
	dir := t.TempDir()
	// The containers' users are nobody here.
	for _, each := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(each, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	quick(t, filepath.Join(stack.Root(), "deploy", "prometheus"), filepath.Join(dir, "prometheus"))
	file := filepath.Join(dir, "compose.quick.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(override, "%DIR%", dir)), 0o644); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	return &composed{
		command: command,
		env: append(os.Environ(),
			"COMPOSE_FILE=compose.yaml:compose.observability.yaml:"+file,
			"COMPOSE_PROFILES=sim",
			"SIM_CHATTER=0",
		),
		asked: []stack.Frame{
			{Text: "!pomoc", Sender: "00000000-0000-4000-8000-000000000001", Group: stack.GroupID, Timestamp: now},
			{Text: "!kot", Sender: "00000000-0000-4000-8000-000000000002", Group: stack.GroupID, Timestamp: now + 1},
		},
	}
}

// compose runs a command of Compose in deploy/compose and returns what it says.
func (s *composed) compose(t *testing.T, args ...string) string {
	t.Helper()
	return s.run(t, append(s.command[:len(s.command):len(s.command)], args...))
}

func (s *composed) docker(t *testing.T, args ...string) string {
	t.Helper()
	return s.run(t, append([]string{"docker"}, args...))
}

func (s *composed) run(t *testing.T, args []string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = filepath.Join(stack.Root(), "deploy", "compose")
	cmd.Env = s.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// client gives up on who does not answer.
var client = &http.Client{Timeout: 30 * time.Second}

// container is what the engine tells of one; the names are the engine's.
type container struct {
	Name   string
	Config struct{ User string }
	State  struct {
		Status   string
		ExitCode int
		Health   *struct{ Status string }
	}
	HostConfig struct {
		ReadonlyRootfs, Privileged   bool
		CapDrop, CapAdd, SecurityOpt []string
		Memory                       int64
		PidsLimit                    *int64
		PortBindings                 map[string][]struct {
			HostIP string `json:"HostIp"`
		}
	}
}

func (s *composed) containers(t *testing.T) []container {
	t.Helper()
	ids := strings.Fields(s.docker(t, "ps", "-aq", "--filter", ours))
	var all []container
	if len(ids) > 0 {
		if err := json.Unmarshal([]byte(s.docker(t, append([]string{"inspect"}, ids...)...)), &all); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func get(t *testing.T, address string) []byte {
	t.Helper()
	response, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", address, response.Status, err, body)
	}
	return body
}

func getJSON(t *testing.T, address string, into any) {
	t.Helper()
	if body := get(t, address); json.Unmarshal(body, into) != nil {
		t.Fatalf("%s is not what was expected: %s", address, body)
	}
}

// query returns the one value that Prometheus answers, 0 without one.
func query(t *testing.T, expression string) float64 {
	t.Helper()
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	getJSON(t, prometheus+"/api/v1/query?query="+url.QueryEscape(expression), &answer)
	if len(answer.Data.Result) == 0 {
		return 0
	}
	text, _ := answer.Data.Result[0].Value[1].(string)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}
