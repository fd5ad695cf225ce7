package telemetry_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/telemetry"
)

// The handler is asked without otel.Handle, which an exporter of another test
// may still call. That Start sets it is a matter of
// TestACollectorThatIsAwayHurtsNobody.
func TestFailuresAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		failed := telemetry.NewFailures(slog.New(slog.NewTextHandler(&log, nil)))
		for range 3 {
			failed.Handle(errors.New("collector is away"))
			time.Sleep(time.Second)
		}
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `err="collector is away" silent=0`) {
			t.Errorf("at first:\n%s", text)
		}
		time.Sleep(time.Minute)
		failed.Handle(errors.New("collector is away"))
		if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "silent=2") {
			t.Errorf("after a minute:\n%s", text)
		}
	})
}
