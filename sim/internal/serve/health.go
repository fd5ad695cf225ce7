package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// healthWithin bounds a health check.
const healthWithin = 3 * time.Second

// Healthcheck is a simulator's own sub-command "healthcheck [URL]", for
// containers, in which there is nothing else that could ask. It returns nil when
// a GET of usual, or of the one URL in args, is answered with a 2xx status.
func Healthcheck(ctx context.Context, args []string, usual string) error {
	if len(args) > 1 {
		return errors.New("healthcheck takes one URL and nothing else")
	}
	url := usual
	if len(args) == 1 {
		url = args[0]
	}
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("health check: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("health check: %w", err)
	}
	_ = response.Body.Close()
	if response.StatusCode >= 300 {
		return fmt.Errorf("health check: %s answers %s", url, response.Status)
	}
	return nil
}
