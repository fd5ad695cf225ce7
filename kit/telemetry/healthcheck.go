package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	healthTimeout = readyPatience + time.Second // a little more than it takes to hear that nobody knows
	maxReason     = 1 << 10                     // of an answer of /readyz, in bytes
)

// Healthcheck asks the admin server at addr, as Options.AdminAddr of the service
// names it, whether the service is ready; a server that listens on every address
// is asked on loopback. It is for a service's own sub-command, which containers
// that have no other program run, so it goes straight there, whatever proxy the
// environment names. It returns within four seconds; an error says why the
// service is not ready, or that nobody answers.
func Healthcheck(ctx context.Context, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is not host:port", addr)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, healthTimeout, fmt.Errorf("no answer within %s", healthTimeout))
	defer cancel()
	err = askReady(ctx, "http://"+net.JoinHostPort(host, port)+"/readyz")
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

func askReady(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	reason, err := io.ReadAll(io.LimitReader(resp.Body, maxReason))
	if err != nil {
		return err
	}
	switch text := strings.TrimSpace(string(reason)); resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusServiceUnavailable:
		return fmt.Errorf("not ready: %s", text)
	default:
		return errors.New(url + " answers " + resp.Status + ": is this another program?")
	}
}
