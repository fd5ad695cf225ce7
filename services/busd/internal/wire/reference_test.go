package wire_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReferenceMessages judges the messages that the reference implementation
// tests its own parser with: Debian's dbus-tests installs them.
func TestReferenceMessages(t *testing.T) {
	const data = "/usr/lib/dbus-1.0/installed-tests/dbus/data"
	for dir, valid := range map[string]bool{"valid-messages": true, "invalid-messages": false} {
		files, err := filepath.Glob(filepath.Join(data, dir, "*.message-raw"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			if os.Getenv("CI") != "" {
				t.Fatalf("no messages in %s: install dbus-tests", filepath.Join(data, dir))
			}
			t.Skipf("no messages in %s: dbus-tests is not installed", filepath.Join(data, dir))
		}
		for _, file := range files {
			t.Run(dir+"/"+filepath.Base(file), func(t *testing.T) {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := judge(t, b); (err == nil) != valid {
					t.Errorf("verdict: %v", err)
				}
			})
		}
	}
}
