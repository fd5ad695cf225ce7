package buses

import (
	"errors"
	"os"
	"testing"
)

// ForTest starts a bus that ends with the test, and fails the test when the
// bus does not end in order. Where the program is missing the test is skipped,
// unless CI is set.
func ForTest(t testing.TB, kind Kind, o Options) *Bus {
	t.Helper()
	b, err := Start(kind, o)
	Need(t, err)
	t.Cleanup(func() {
		select {
		case <-b.Ended():
			if b.result == nil { // the test had it end
				b.kill()
				return
			}
		default:
		}
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Need fails the test on an error of Start, and skips it where the program is
// missing and CI is not set.
func Need(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
