package telemetry_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"

	"quartet/kit/telemetry"
)

func TestFailuresAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "botd", Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			otel.Handle(errors.New("collector is away"))
			time.Sleep(time.Second)
		}
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `err="collector is away" silent=0`) {
			t.Errorf("at first:\n%s", text)
		}
		time.Sleep(time.Minute)
		otel.Handle(errors.New("collector is away"))
		if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "silent=2") {
			t.Errorf("after a minute:\n%s", text)
		}
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
