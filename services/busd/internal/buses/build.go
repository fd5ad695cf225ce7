package buses

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// folder is where busd is built, for all tests of a run.
var folder = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "busd-built-") })

// Instead names the variable that may hold the path of another busd to run in
// place of the one of this tree: built for the race detector, say, or from an
// earlier commit.
const Instead = "QUARTET_BUSD"

// built makes busd once and returns the path of the binary.
var built = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(Instead); path != "" {
		return path, nil
	}
	dir, err := folder()
	if err != nil {
		return "", err
	}
	root, err := module()
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // others may run it
		return "", err
	}
	path := filepath.Join(dir, "busd")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "./cmd/busd")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/busd: %w\n%s", err, out)
	}
	return path, nil
})

// module is the folder of this module: a test runs in its package's folder, a
// tool wherever the user is.
func module() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	starts := []string{filepath.Dir(file)} // not with -trimpath
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir, filepath.Join(dir, "services", "busd"))
	}
	for _, dir := range starts {
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "cmd", "busd")); err == nil {
				return dir, nil
			}
		}
	}
	return "", errors.New("cmd/busd is in no parent folder: run this inside services/busd")
}

// Main runs the tests of a package and takes the built busd away, for TestMain.
func Main(m *testing.M) int {
	defer Clean()
	return m.Run()
}

// Clean takes the built busd away, for what is no test.
func Clean() {
	if dir, err := folder(); err == nil {
		os.RemoveAll(dir)
	}
}
