package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// runParts runs every part until ctx ends or one of them fails, and returns
// that failure once all have ended.
func runParts(ctx context.Context, parts map[string]func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	failed := make(chan error, len(parts))
	for name, part := range parts {
		wg.Go(func() {
			if err := part(ctx); err != nil {
				failed <- fmt.Errorf("%s: %w", name, err)
				cancel(err)
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed // nil when nobody failed
}

// announce says where a surface is; the line is one write, so lines never mix.
func announce(stdout io.Writer, log *slog.Logger, name, url string) {
	fmt.Fprintf(stdout, "%s %s\n", name, url)
	log.Info("listening", slog.String("surface", name), slog.String("url", url))
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
