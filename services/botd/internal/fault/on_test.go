//go:build fault

package fault_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"quartet/services/botd/internal/fault"
)

// TestMain plays the process that is to end: it passes a point as often as it
// was told, and then says so.
func TestMain(m *testing.M) {
	if passes := os.Getenv("PASSES"); passes != "" {
		for range len(passes) {
			fault.Point(fault.Journaled)
			fault.Point(fault.Begun)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestProcessEndsWhereItIsTold(t *testing.T) {
	for _, tt := range []struct {
		name, point string
		ends        bool
	}{
		{"at the third time of three", "journaled:3", true},
		{"at the first", "begun:1", true},
		{"not at a fourth that never comes", "journaled:4", false},
		{"not at another stage", "sent:1", false},
		{"not without being told", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := pass(t, tt.point)
			exit, _ := errors.AsType[*exec.ExitError](err)
			killed := exit != nil && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
			if killed != tt.ends || !tt.ends && err != nil {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

func TestWrongPointIsSaid(t *testing.T) {
	for _, point := range []string{"journaled", "journaled:0", "journaled:x", "nowhere:1"} {
		err := pass(t, point)
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || !strings.Contains(string(exit.Stderr), "want a stage") {
			t.Errorf("%s: ended with %v", point, err)
		}
	}
}

// pass passes the points three times in a process of its own.
func pass(t *testing.T, point string) error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PASSES=xxx", "FAULT_POINT="+point)
	_, err := cmd.Output()
	return err
}
