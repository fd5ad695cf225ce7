package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"quartet/services/botd/internal/config"
)

func TestHealthcheckAsksTheConfiguredAddress(t *testing.T) {
	status, body := http.StatusOK, "ready"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL)
		}
		w.WriteHeader(status)
		w.Write([]byte(body))
	}))
	defer s.Close()
	addr := s.Listener.Addr().String()
	environ := []string{"BOTD_LIMIT=wrong, but not asked for", "BOTD_ADMIN_ADDR=" + addr}
	if out, _, err := runBotd(t, environ, "healthcheck"); err != nil || out != "ready\n" {
		t.Errorf("%q, %v", out, err)
	}
	status, body = http.StatusServiceUnavailable, "not receiving"
	if out, _, err := runBotd(t, environ, "healthcheck"); err == nil || errors.Is(err, errUsage) || err.Error() != "not ready: not receiving" || out != "" {
		t.Errorf("%q, %v", out, err)
	}
	if _, _, err := runBotd(t, []string{"BOTD_ADMIN_ADDR=127.0.0.1:1"}, "healthcheck", addr); err == nil || err.Error() != "not ready: not receiving" {
		t.Errorf("an address that is given: %v", err)
	}
}

func TestHealthcheckKnowsTheDefaultAddress(t *testing.T) {
	cfg, err := config.Parse([]string{"BOTD_NUMBER=+15550100000"})
	if err != nil || cfg.AdminAddr != defaultAdminAddr {
		t.Errorf("%s, %v", cfg.AdminAddr, err)
	}
}

func TestHealthcheckTakesOneAddress(t *testing.T) {
	for _, args := range [][]string{{"a:1", "b:2"}, {"--addr"}} {
		if _, _, err := runBotd(t, nil, append([]string{"healthcheck"}, args...)...); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), "help") {
			t.Errorf("%v: %v", args, err)
		}
	}
}
