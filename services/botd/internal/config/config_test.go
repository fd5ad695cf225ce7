package config_test

import (
	"strings"
	"testing"
	"time"

	"quartet/services/botd/internal/config"
)

const number = "BOTD_NUMBER=+15550100000"

func TestDefaults(t *testing.T) {
	c, err := config.Parse([]string{number, "PATH=/bin", "OTEL_SERVICE_NAME=x"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Limit != 8 || c.SignalURL.String() != "http://127.0.0.1:8080" || c.BacklogBytes != 16<<20 ||
		time.Duration(c.Cooldown) != 5*time.Second || c.AdminAddr != "127.0.0.1:9101" || c.UpstreamAllow != nil {
		t.Errorf("%+v", c)
	}
}

func TestEveryFaultIsNamedAtOnce(t *testing.T) {
	_, err := config.Parse([]string{
		"BOTD_LIMIT=0", "BOTD_SIGNAL_URL=signal:8080", "BOTD_COOLDOWN=-1", "BOTD_LIMITS=9", "BOTD_SELFTEST_GROUP=Koty",
	})
	if err == nil {
		t.Fatal("taken")
	}
	for _, name := range []string{"BOTD_NUMBER", "BOTD_COOLDOWN", "BOTD_LIMITS"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in:\n%v", name, err)
		}
	}
	_, err = config.Parse([]string{
		"BOTD_NUMBER=15550100000", "BOTD_LIMIT=0", "BOTD_SIGNAL_URL=signal:8080", "BOTD_BACKLOG_BYTES=1KiB", "BOTD_SENDER_WAITING=0",
		"BOTD_SEND_TIMEOUT=0", "BOTD_COMMAND_TIMEOUT=0", "BOTD_CAT_URL=ftp://cats", "BOTD_SELFTEST_GROUP=Koty",
		"BOTD_PREFIX= !", "BOTD_ADMIN_ADDR=9101", "BOTD_UPSTREAM_ALLOW=simweb:8081,simweb",
	})
	if err == nil {
		t.Fatal("taken")
	}
	for _, name := range []string{"BOTD_NUMBER", "BOTD_LIMIT", "BOTD_SIGNAL_URL", "BOTD_BACKLOG_BYTES", "BOTD_SENDER_WAITING",
		"BOTD_SEND_TIMEOUT", "BOTD_COMMAND_TIMEOUT", "BOTD_CAT_URL", "BOTD_SELFTEST_GROUP", "BOTD_PREFIX", "BOTD_ADMIN_ADDR", "BOTD_UPSTREAM_ALLOW"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in:\n%v", name, err)
		}
	}
}

func TestGroupIsTakenInBothSpellings(t *testing.T) {
	const internal = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	const public = "group.QUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEhoOD0="
	for _, id := range []string{internal, public} {
		c, err := config.Parse([]string{number, "BOTD_SELFTEST_GROUP=" + id})
		if err != nil || c.SelftestGroup != internal {
			t.Errorf("%s: %q, %v", id, c.SelftestGroup, err)
		}
	}
}

func TestValuesThatCannotWorkAreRefused(t *testing.T) {
	for _, setting := range []string{
		"BOTD_LIMIT=9223372036854775807", "BOTD_BACKLOG_BYTES=1TiB", "BOTD_PREFIX=\u00a0!", "BOTD_ADMIN_ADDR=127.0.0.1", "BOTD_ADMIN_ADDR=127.0.0.1:",
		"BOTD_UPSTREAM_ALLOW=:8081", "BOTD_UPSTREAM_ALLOW=simweb:", "BOTD_UPSTREAM_ALLOW=http://simweb:8081/", "BOTD_UPSTREAM_ALLOW=a:1, b:2",
		"BOTD_PICTURE_HOSTS=http://cdn.example.org", "BOTD_USER_AGENT=botd\nme@example.org",
	} {
		name, _, _ := strings.Cut(setting, "=")
		if _, err := config.Parse([]string{number, setting}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", setting, err)
		}
	}
	if _, err := config.Parse([]string{number, "BOTD_ADMIN_ADDR=:9101", "BOTD_UPSTREAM_ALLOW=simweb:8081,[::1]:80"}); err != nil {
		t.Error(err)
	}
}

// What waits is in the store too, which takes 64 MiB.
func TestBacklogFitsIntoTheStore(t *testing.T) {
	if _, err := config.Parse([]string{number, "BOTD_BACKLOG_BYTES=33MiB", "BOTD_STATE_DIR=/var/lib/botd"}); err == nil || !strings.Contains(err.Error(), "32MiB is the most") {
		t.Errorf("33 MiB: %v", err)
	}
	for _, fits := range [][]string{{"BOTD_BACKLOG_BYTES=32MiB", "BOTD_STATE_DIR=/var/lib/botd"}, {"BOTD_BACKLOG_BYTES=4GiB"}} {
		if _, err := config.Parse(append(fits, number)); err != nil {
			t.Errorf("%v: %v", fits, err)
		}
	}
}

func TestPasswordInAnAddressIsNotShown(t *testing.T) {
	_, err := config.Parse([]string{number, "BOTD_SIGNAL_URL=ftp://ala:hunter2@signal"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}

func TestBareNumbersAreSeconds(t *testing.T) {
	c, err := config.Parse([]string{number, "BOTD_SEND_TIMEOUT=60", "BOTD_COOLDOWN=1m"})
	if err != nil || time.Duration(c.SendTimeout) != time.Minute || time.Duration(c.Cooldown) != time.Minute {
		t.Errorf("%+v, %v", c, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("LIMIT", "8")
	f.Add("SIGNAL_URL", "http://[::1]:8080")
	f.Add("COOLDOWN", "1e9")
	f.Add("BACKLOG_BYTES", "9999999999GiB")
	f.Add("CAT_KEY_FILE", "/nonexistent")
	f.Fuzz(func(t *testing.T, name, value string) {
		c, err := config.Parse([]string{number, config.Prefix + name + "=" + value})
		if err != nil {
			return
		}
		if c.Limit < 1 || c.SignalURL.Host == "" && c.DaemonAddress() == "" || c.Cooldown < 0 || c.BacklogBytes < 64<<10 {
			t.Errorf("%s=%q was taken as %+v", name, value, c)
		}
	})
}

// The address says which way to Signal is meant, and what goes only with
// another one is a fault.
func TestWaysToSignal(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:8080":      "",
		"https://signal.example/api": "",
		"tcp://127.0.0.1:7583":       "127.0.0.1:7583",
		"tcp://[::1]:7583":           "[::1]:7583",
		"unix:///run/signal/socket":  "/run/signal/socket",
	} {
		c, err := config.Parse([]string{number, "BOTD_SIGNAL_URL=" + address})
		if err != nil || c.DaemonAddress() != want {
			t.Errorf("%s: %q, %v", address, c.DaemonAddress(), err)
		}
	}
	for _, wrong := range []string{"tcp://127.0.0.1", "tcp://127.0.0.1:7583/x", "unix://socket", "unix:socket", "signal:8080", "ftp://x"} {
		if _, err := config.Parse([]string{number, "BOTD_SIGNAL_URL=" + wrong}); err == nil || !strings.Contains(err.Error(), "BOTD_SIGNAL_URL") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	for name, environ := range map[string][]string{
		"BOTD_SPOOL_DIR":    {"BOTD_SPOOL_DIR=/tmp"},
		"BOTD_WEBHOOK_ADDR": {"BOTD_SIGNAL_URL=tcp://127.0.0.1:7583", "BOTD_WEBHOOK_ADDR=127.0.0.1:9102"},
	} {
		if _, err := config.Parse(append(environ, number)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v", environ, err)
		}
	}
}
