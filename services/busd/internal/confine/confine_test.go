//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const confined = "CONFINE_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(confined) == "" {
		os.Exit(m.Run())
	}
	if err := live(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// TestConfinedProcess confines a process, for good: another one than the test's.
func TestConfinedProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), confined+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// live is what the confined process finds.
func live() error {
	busy, done := make(chan struct{}), make(chan struct{})
	for range 3 { // threads that are there before
		go func() {
			runtime.LockOSThread()
			busy <- struct{}{}
			<-done
		}()
		<-busy
	}
	defer close(done)
	if err := Apply(); err != nil {
		return err
	}
	return errors.Join(threadsAreBound(), callsAreRefused(), programsAreRefused(), theRestWorks())
}

func threadsAreBound() error {
	all, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(all) < 4 {
		return fmt.Errorf("%d threads, error %v", len(all), err)
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, want := range []string{"\nNoNewPrivs:\t1\n", "\nSeccomp:\t2\n"} {
			if !strings.Contains(string(text), want) {
				return fmt.Errorf("%s does not have %q", path, want)
			}
		}
	}
	return nil
}

func callsAreRefused() error {
	processes := []uint32{unix.SYS_CLONE} // not called without arguments
	if runtime.GOARCH == "amd64" {
		processes = append(processes, 57, 58) // fork, vfork
	}
	var errs []error
	for _, call := range append(slices.Clone(refused), refusedHere...) {
		if slices.Contains(processes, call) {
			continue
		}
		if _, _, errno := syscall.RawSyscall6(uintptr(call), 0, 0, 0, 0, 0, 0); errno != unix.EPERM {
			errs = append(errs, fmt.Errorf("call %d: %w", call, errno))
		}
	}
	if _, _, errno := syscall.RawSyscall6(unix.SYS_CLONE3, 0, 0, 0, 0, 0, 0); errno != unix.ENOSYS {
		errs = append(errs, fmt.Errorf("clone3: %w", errno))
	}
	return errors.Join(errs...)
}

func programsAreRefused() error {
	if err := exec.Command("/bin/true").Run(); !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("a program was started: %v", err)
	}
	if err := syscall.Exec("/bin/true", []string{"true"}, nil); !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("execve: %w", err)
	}
	return nil
}

// theRestWorks makes threads, and what a bus does with files and sockets.
func theRestWorks() error {
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { runtime.LockOSThread() }) // the thread ends with it
	}
	all.Wait()
	if _, err := os.ReadFile("/proc/self/cmdline"); err != nil {
		return err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(fds[0], []byte("x"), unix.UnixRights(0), nil, 0); err != nil {
		return err
	}
	_, _, _, _, err = unix.Recvmsg(fds[1], make([]byte, 1), make([]byte, 64), 0)
	return err
}
