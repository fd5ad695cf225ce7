package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const maxAnswer = 64 << 20

// do sends a request and reads JSON from the answer, when answer is not nil.
func do(r *http.Request, answer any) error {
	client := http.Client{Timeout: 30 * time.Second}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", r.Method, r.URL.Path, res.Status, strings.TrimSpace(string(body)))
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(body, answer)
}

// send sends JSON.
func send(ctx context.Context, method, address string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	return do(r, nil)
}

// eventually tries until it goes well, and returns the last error when the time
// is over.
func eventually(ctx context.Context, within time.Duration, try func() error) error {
	end := time.Now().Add(within)
	for {
		err := try()
		if err == nil || time.Now().After(end) {
			return err
		}
		if sleep(ctx, 200*time.Millisecond) != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
