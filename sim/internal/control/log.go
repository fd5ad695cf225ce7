package control

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	maxWait = 60 * time.Second // of one long poll
	maxPage = 10_000           // entries of a log in one answer
)

// Follow answers with the entries of a log behind the number after=, as
// {name: entries, "next": number to ask after next}; with wait=10s it waits for
// the first. Only those that keep says yes to are told, nil = all.
func Follow[T any](name string, since func(uint64, int) ([]T, uint64), await func(context.Context, uint64) error, keep func(*http.Request, T) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		after, err := number(r, "after")
		var wait time.Duration
		if err == nil {
			wait, err = Duration(r, "wait", maxWait)
		}
		if err != nil {
			Fail(w, http.StatusBadRequest, err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), wait)
		defer cancel()
		told := []T{}
		for {
			var list []T
			list, after = since(after, maxPage)
			for _, entry := range list {
				if keep == nil || keep(r, entry) {
					told = append(told, entry)
				}
			}
			more := len(list) == maxPage
			if len(told) > 0 || !more && (wait == 0 || await(ctx, after) != nil) {
				Answer(w, http.StatusOK, map[string]any{name: told, "next": after})
				return
			}
		}
	}
}

// Duration reads a duration from a request's query, from 0 to a limit.
func Duration(r *http.Request, name string, limit time.Duration) (time.Duration, error) {
	text := r.URL.Query().Get(name)
	if text == "" || text == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if d < 0 || d > limit {
		return 0, fmt.Errorf("%s: want 0 to %v", name, limit)
	}
	return d, nil
}

// number reads a number from a request's query; 0 when it is not there.
func number(r *http.Request, name string) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}
