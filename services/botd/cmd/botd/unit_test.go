package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quartet/services/botd/internal/config"
)

// What the unit in deploy/systemd sets must be what the program takes.
func TestUnitFitsTheProgram(t *testing.T) {
	const dir = "../../../../deploy/systemd/"
	secrets := t.TempDir()
	var environ []string
	var limit, watchdog time.Duration
	files, err := filepath.Glob(dir + "botd.service.d/*.conf")
	if err != nil || len(files) == 0 {
		t.Fatalf("drop-ins: %q, %v", files, err)
	}
	for _, file := range append(files, dir+"botd.env", dir+"botd.service") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch {
			case name == "Environment":
				environ = append(environ, strings.NewReplacer("%d", secrets, "%S", "/var/lib").Replace(value))
			case strings.HasPrefix(strings.TrimPrefix(name, "#"), "BOTD_"): // a suggestion too, if it has a value
				environ = append(environ, strings.TrimPrefix(name, "#")+"="+value)
			case name == "LoadCredential":
				id, _, _ := strings.Cut(value, ":")
				if err := os.WriteFile(filepath.Join(secrets, id), []byte("correcthorsebattery"), 0o600); err != nil {
					t.Fatal(err)
				}
			case name == "TimeoutStopSec":
				limit, err = time.ParseDuration(value)
			case name == "WatchdogSec":
				watchdog, err = time.ParseDuration(value)
			}
			if err != nil {
				t.Errorf("%s: %s: %v", file, line, err)
			}
		}
	}
	cfg, err := config.Parse(environ)
	if err != nil {
		t.Fatalf("with %q: %v", environ, err)
	}
	if cfg.StateDir != "/var/lib/botd" || cfg.CatKey == "" || cfg.WebhookToken == "" || cfg.Commands == "" {
		t.Errorf("not all of it arrived: %+v", cfg)
	}
	if stop := time.Duration(cfg.DrainTimeout) + stopMargin; limit < stop {
		t.Errorf("TimeoutStopSec=%s, but a stop may take %s", limit, stop)
	}
	if watchdog < 20*time.Second {
		t.Errorf("WatchdogSec=%s is hasty on a busy machine", watchdog)
	}
}
