package telemetry_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/telemetry"
)

func TestACheckOfReadinessThatHangsHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int64
		wake := make(chan struct{})
		ask := telemetry.AskReady(func(context.Context) error {
			running.Add(1)
			<-wake
			return nil
		})
		for range 3 {
			began := time.Now()
			if err := ask(t.Context()); err == nil || time.Since(began) != 3*time.Second {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		}
		if n := running.Load(); n != 1 {
			t.Errorf("%d checks hang", n)
		}
		close(wake)
		synctest.Wait()
		if err := ask(t.Context()); err != nil || running.Load() != 2 {
			t.Errorf("check %d: %v", running.Load(), err)
		}
	})
}

func TestACheckOfReadinessGivesItsOwnReasonForBeingLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := telemetry.AskReady(func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if err := ask(t.Context()); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
	})
}

func TestACheckOfReadinessThatPanicsIsAReason(t *testing.T) {
	ask := telemetry.AskReady(func(context.Context) error { panic("no bot") })
	if err := ask(t.Context()); err == nil || !strings.Contains(err.Error(), "no bot") {
		t.Errorf("got %v", err)
	}
}
