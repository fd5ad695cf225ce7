package keyring_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/keyring"
	"quartet/services/busd/internal/sasl"
)

// noon is when these tests begin.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// fixture is a keyring in an empty home, with a clock that stands.
type fixture struct {
	keyring.Keyring
	at   time.Time
	file string
}

func newFixture(t *testing.T) *fixture {
	dir := filepath.Join(t.TempDir(), ".dbus-keyrings")
	f := &fixture{at: noon, file: filepath.Join(dir, "org_freedesktop_general")}
	f.Keyring = keyring.Keyring{Dir: dir, Now: func() time.Time { return f.at }}
	return f
}

func (f *fixture) get(t *testing.T) sasl.Cookie {
	t.Helper()
	c, err := f.Cookie(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// write puts lines into the file, as another server would.
func (f *fixture) write(t *testing.T, lines string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.file, []byte(lines), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(f.file, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

func (f *fixture) lines(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(f.file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// wantRefused says that no cookie is given out, for a reason that has a word.
func (f *fixture) wantRefused(t *testing.T, word string) {
	t.Helper()
	c, err := f.Cookie(t.Context())
	if err == nil || !strings.Contains(err.Error(), word) || c != (sasl.Cookie{}) {
		t.Errorf("Cookie() = %+v, %v, want an error about %q", c, err, word)
	}
}

func TestFirstCookieMakesDirectoryAndFile(t *testing.T) {
	f := newFixture(t)
	c := f.get(t)
	for path, want := range map[string]os.FileMode{f.Dir: os.ModeDir | 0o700, f.file: 0o600} {
		st, err := os.Lstat(path)
		if err != nil || st.Mode() != want {
			t.Errorf("%s has mode %v, %v, want %v", path, st.Mode(), err, want)
		}
	}
	want := fmt.Sprintf("%d %d %s", c.ID, noon.Unix(), c.Secret)
	if got := f.lines(t); len(got) != 1 || got[0] != want {
		t.Errorf("the file has %q, want %q", got, want)
	}
	names, err := filepath.Glob(f.Dir + "/*")
	if err != nil || len(names) != 1 {
		t.Errorf("the directory has %q, want the file alone", names)
	}
	if c.Context != "org_freedesktop_general" || len(c.Secret) != 48 || len(c.Challenge) != 32 {
		t.Errorf("cookie %+v", c)
	}
}

func TestChallengeIsNewEachTime(t *testing.T) {
	f := newFixture(t)
	a, b := f.get(t), f.get(t)
	if a.Challenge == b.Challenge || a.Secret != b.Secret || a.ID != b.ID {
		t.Errorf("cookies %+v and %+v, want one cookie with two challenges", a, b)
	}
}

func TestCookieAges(t *testing.T) {
	f := newFixture(t)
	first := f.get(t)
	f.at = noon.Add(5*time.Minute - time.Second)
	if c := f.get(t); c.ID != first.ID {
		t.Error("a cookie is not offered for five minutes")
	}
	f.at = noon.Add(5 * time.Minute)
	second := f.get(t)
	if second.ID == first.ID || second.Secret == first.Secret {
		t.Error("a cookie is offered for longer than five minutes")
	}
	if n := len(f.lines(t)); n != 2 {
		t.Errorf("the file has %d cookies, want both: a client may be at the older one", n)
	}
	f.at = noon.Add(10 * time.Minute)
	f.get(t)
	if got := strings.Join(f.lines(t), "\n"); strings.Contains(got, first.Secret) || !strings.Contains(got, second.Secret) {
		t.Errorf("after ten minutes the file has\n%s\nwant the first cookie gone and the second there", got)
	}
}

// Cookies must never become permanent because the clock was ahead once.
func TestCookieFromTheFutureIsDropped(t *testing.T) {
	f := newFixture(t)
	future := strings.Repeat("a", 48)
	f.write(t, fmt.Sprintf("1 %d %s\n2 %d bb\n", noon.Add(time.Hour).Unix(), future, noon.Add(time.Minute).Unix()), 0o600)
	if c := f.get(t); c.ID != 2 {
		t.Errorf("cookie %d is offered, want 2, which a clock gone back a minute explains", c.ID)
	}
	f.at = noon.Add(10 * time.Minute)
	f.get(t)
	if got := strings.Join(f.lines(t), "\n"); strings.Contains(got, future) {
		t.Errorf("the file still has the cookie of the future:\n%s", got)
	}
}

func TestCookieOfAnotherServerIsUsed(t *testing.T) {
	f := newFixture(t)
	f.write(t, fmt.Sprintf("42 %d c0ffee\n", noon.Unix()), 0o600)
	if c := f.get(t); c.ID != 42 || c.Secret != "c0ffee" {
		t.Errorf("cookie %+v, want the one of the file", c)
	}
}

func TestLinesThatAreNoCookiesAreLeftOut(t *testing.T) {
	f := newFixture(t)
	now := noon.Unix()
	f.write(t, fmt.Sprintf("\n1\n2 %d\n-3 %d aa\n4 x aa\n5 %d zz\n6 %d aa bb\n2147483648 %d aa\n7 -1 aa\n8 %d aabb\n8 %d ccdd", now, now, now, now, now, now, now), 0o600)
	if c := f.get(t); c.ID != 8 || c.Secret != "aabb" {
		t.Errorf("cookie %+v, want the first one with number 8", c)
	}
}

func TestDirectoryOpenToOthersIsRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o701, 0o710, 0o740, 0o777} {
		f := newFixture(t)
		f.write(t, "", 0o600)
		if err := os.Chmod(f.Dir, mode); err != nil {
			t.Fatal(err)
		}
		f.wantRefused(t, "open to others")
	}
}

func TestFileOpenToOthersIsRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o604, 0o640, 0o620, 0o666} {
		f := newFixture(t)
		f.write(t, fmt.Sprintf("1 %d aa\n", noon.Unix()), mode)
		f.wantRefused(t, "open to others")
	}
}

func TestDirectoryOfAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("needs root to give a directory away")
		}
		t.Skip("needs root to give a directory away")
	}
	f := newFixture(t)
	f.write(t, "", 0o600)
	if err := os.Chown(f.Dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	f.wantRefused(t, "belongs to user 65534")
}

// CVE-2019-12749: with a link in place of the directory or the file, a
// server was led to read and write elsewhere.
func TestLinksAreRefused(t *testing.T) {
	t.Run("directory", func(t *testing.T) {
		f := newFixture(t)
		elsewhere := t.TempDir()
		if err := os.Chmod(elsewhere, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, f.Dir); err != nil {
			t.Fatal(err)
		}
		f.wantRefused(t, "not a directory")
		if names, _ := filepath.Glob(elsewhere + "/*"); len(names) != 0 {
			t.Errorf("%q was written through the link", names)
		}
	})
	for name, link := range map[string]func(target, path string) error{"file": os.Symlink, "lock": func(target, path string) error {
		return os.Symlink(target, path+".lock")
	}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			if err := os.Mkdir(f.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			target := filepath.Join(t.TempDir(), "target")
			if err := link(target, f.file); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := f.Cookie(ctx); err == nil {
				t.Error("a cookie is given out")
			}
			if _, err := os.Lstat(target); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the link's target was made: %v", err)
			}
		})
	}
}

func TestOtherKindsOfFilesAreRefused(t *testing.T) {
	t.Run("fifo", func(t *testing.T) {
		f := newFixture(t)
		if err := os.Mkdir(f.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mkfifo(f.file, 0o600); err != nil {
			t.Fatal(err)
		}
		f.wantRefused(t, "no plain file")
	})
	t.Run("directory is a file", func(t *testing.T) {
		f := newFixture(t)
		if err := os.WriteFile(f.Dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f.wantRefused(t, "not a directory")
	})
	t.Run("too large", func(t *testing.T) {
		f := newFixture(t)
		f.write(t, strings.Repeat("x", 257<<10), 0o600)
		f.wantRefused(t, "larger")
	})
}

func TestMissingHomeIsAnError(t *testing.T) {
	k := keyring.Keyring{Dir: filepath.Join(t.TempDir(), "no", "home")}
	if _, err := k.Cookie(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want that it does not exist", err)
	}
}

// A user who is in no data base may have none: the working directory is not
// the place for secrets.
func TestRelativeHomeIsAnError(t *testing.T) {
	t.Chdir(t.TempDir())
	k := keyring.Keyring{Dir: ".dbus-keyrings"}
	if c, err := k.Cookie(t.Context()); err == nil || !strings.Contains(err.Error(), "home") {
		t.Errorf("cookie %+v, error %v", c, err)
	}
	if _, err := os.Lstat(k.Dir); err == nil {
		t.Error("the directory was made")
	}
}

func TestOneCookieForManyAtOnce(t *testing.T) {
	f := newFixture(t)
	var wg sync.WaitGroup
	cookies := make([]sasl.Cookie, 8)
	for i := range cookies {
		wg.Go(func() {
			c, err := f.Cookie(t.Context())
			if err != nil {
				t.Error(err)
			}
			cookies[i] = c
		})
	}
	wg.Wait()
	for _, c := range cookies {
		if c.ID != cookies[0].ID || c.Secret != cookies[0].Secret {
			t.Errorf("cookies %+v and %+v, want one", c, cookies[0])
		}
	}
	if n := len(f.lines(t)); n != 1 {
		t.Errorf("the file has %d cookies, want 1", n)
	}
}

func TestStaleLockIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.write(t, "", 0o600)
		if err := os.WriteFile(f.file+".lock", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		f.get(t)
		if waited := time.Since(start); waited < 8*time.Second || waited > 9*time.Second {
			t.Errorf("the lock was taken for stale after %v, want 8s", waited)
		}
		if _, err := os.Lstat(f.file + ".lock"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the lock is still there: %v", err)
		}
	})
}

func TestLockIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.write(t, "", 0o600)
		lock := f.file + ".lock"
		if err := os.WriteFile(lock, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { os.Remove(lock) })
		start := time.Now()
		f.get(t)
		if waited := time.Since(start); waited < time.Second || waited > 2*time.Second {
			t.Errorf("waited %v, want until the lock was free", waited)
		}
	})
}

func TestWaitForLockCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.write(t, "", 0o600)
		if err := os.WriteFile(f.file+".lock", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Cookie(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want that the deadline has passed", err)
		}
		if _, err := os.Lstat(f.file + ".lock"); err != nil {
			t.Errorf("another's lock was removed: %v", err)
		}
	})
}
