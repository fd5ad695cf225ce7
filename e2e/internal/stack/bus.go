package stack

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Bus is a running busd.
type Bus struct {
	*Process
	Address string // for clients
	Socket  string // the file of it
	Admin   string // base URL of its admin server
}

// StartBus starts a busd that needs no configuration file, and waits until it
// is ready.
func StartBus(t testing.TB, env ...string) *Bus {
	t.Helper()
	b := &Bus{Socket: filepath.Join(shortDir(t), "bus")}
	b.Address = "unix:path=" + b.Socket
	b.Start(t, env...)
	return b
}

// Start starts the bus, or another one in its place.
func (b *Bus) Start(t testing.TB, env ...string) {
	t.Helper()
	admin := FreeAddr(t)
	b.Admin = "http://" + admin
	b.Process = Start(t, "busd", append([]string{"BUSD_ADMIN_ADDR=" + admin}, env...), "--standalone", "--address="+b.Address)
	b.WaitHTTP(t, b.Admin+"/readyz", http.StatusOK)
}

// Metrics scrapes it.
func (b *Bus) Metrics(t testing.TB) Metrics {
	t.Helper()
	return Metrics(Get(t, b.Admin+"/metrics"))
}

// StartArm64Bus starts a busd that is built for arm64, on whatever this machine
// is, without telemetry. Without qemu, or a kernel that lets it stand in for
// another processor within a namespace, the test is skipped, but not in CI.
func StartArm64Bus(t testing.TB) *Bus {
	t.Helper()
	qemu, unshare := Need(t, "qemu-aarch64-static", "qemu-aarch64"), Need(t, "unshare")
	namespace := []string{"--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-euc", standIn, "sh", qemu}
	if out, err := exec.Command(unshare, append(namespace, "true")...).CombinedOutput(); err != nil {
		lack(t, errors.Join(err, errors.New("this machine cannot run programs of others: "+string(out))))
	}
	dir, err := folder()
	if err := errors.Join(err, compile("arm64", []string{"./services/busd/cmd/busd"}, "GOARCH=arm64", "CGO_ENABLED=0")); err != nil {
		t.Fatal(err)
	}
	b := &Bus{Socket: filepath.Join(shortDir(t), "bus")}
	b.Address = "unix:path=" + b.Socket
	b.Process = launch(t, "busd for arm64", nil, unshare, nil, append(namespace, filepath.Join(dir, "arm64", "busd"), "--standalone", "--address="+b.Address)...)
	Eventually(t, "the bus for arm64 listens", func() error {
		select {
		case <-b.done:
			t.Fatalf("it ended: %v\n%s", b.err, b.Log())
		default:
		}
		_, err := os.Stat(b.Socket)
		return err
	})
	return b
}

// standIn has qemu, its first argument, run programs for arm64 in this
// namespace, as the bus starts itself again, and then runs the rest.
const standIn = `
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
printf '%s' ':arm64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:'"$1"':F' >/proc/sys/fs/binfmt_misc/register
shift
exec "$@"`

// shortDir is a folder for a socket: a test's own may have too long a name.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
