package main

import (
	"strings"
	"testing"
)

func TestWithoutANetworkTheMessageSaysWhatIsMissing(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	_, err := database()
	if err == nil || !strings.Contains(err.Error(), "is there a network?") || !strings.Contains(err.Error(), vulndb) {
		t.Errorf("got %v", err)
	}
}
