package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// every is how often the services are scraped here: fast, so that a minute is
// enough to see something.
const every = time.Second

// Prometheus is a real one, in a folder of its own.
type Prometheus struct {
	url string
	cmd *exec.Cmd
	log *bytes.Buffer
}

// startPrometheus starts one that scrapes targets, by job, and evaluates the
// rules of the deployment.
func startPrometheus(ctx context.Context, program, dir, addr string, rules []string, targets map[string]string) (*Prometheus, error) {
	config := fmt.Sprintf("global: {scrape_interval: %v, evaluation_interval: %v}\nrule_files: %s\nscrape_configs:\n", every, every, asJSON(rules))
	for job, target := range targets {
		config += fmt.Sprintf("  - {job_name: %s, static_configs: [{targets: [%q]}]}\n", job, target)
	}
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	p := &Prometheus{url: "http://" + addr, log: &bytes.Buffer{}}
	p.cmd = exec.Command(program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"),
		"--web.listen-address="+addr, "--enable-feature=exemplar-storage", "--log.level=warn")
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start Prometheus: %w", err)
	}
	if err := eventually(ctx, 30*time.Second, func() error { return get(ctx, p.url+"/-/ready", nil) }); err != nil {
		p.stop()
		return nil, fmt.Errorf("wait for Prometheus: %w; it says:\n%s", err, p.log)
	}
	return p, nil
}

func (p *Prometheus) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

func asJSON(v any) string {
	text, _ := json.Marshal(v) // strings only
	return string(text)
}
