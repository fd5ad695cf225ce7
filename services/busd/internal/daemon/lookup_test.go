package daemon

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// freedesktop dbus#343: rules that forbid something are not left out because
// nobody can be looked up at the moment.
func TestUsersThatCannotBeLookedUpAreNotTakenForUnknown(t *testing.T) {
	t.Cleanup(func() { lookUpUser, lookUpGroup = user.Lookup, user.LookupGroup })
	file := filepath.Join(t.TempDir(), "bus.conf")
	for _, section := range []string{`<policy user="somebody"><deny own="*"/></policy>`, `<policy group="somebody"><deny own="*"/></policy>`,
		`<policy context="default"><deny user="somebody"/></policy>`} {
		if err := os.WriteFile(file, []byte("<busconfig><listen>unix:tmpdir=/tmp</listen>"+section+"</busconfig>"), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			err     error // of opening /etc/passwd
			refused bool
		}{
			{syscall.EMFILE, true},
			{syscall.EACCES, true},
			{syscall.ENOENT, false},
			{nil, false},
		} {
			lookUpUser = func(name string) (*user.User, error) {
				if tt.err == nil {
					return nil, user.UnknownUserError(name)
				}
				return nil, &os.PathError{Op: "open", Path: "/etc/passwd", Err: tt.err}
			}
			lookUpGroup = func(name string) (*user.Group, error) {
				if tt.err == nil {
					return nil, user.UnknownGroupError(name)
				}
				return nil, &os.PathError{Op: "open", Path: "/etc/group", Err: tt.err}
			}
			l, err := Load(file)
			if tt.refused && (err == nil || !strings.Contains(err.Error(), tt.err.Error()) || !strings.Contains(err.Error(), "somebody")) {
				t.Errorf("%s, and %v: error %v", section, tt.err, err)
			}
			if !tt.refused && (err != nil || len(l.Warnings) != 1) {
				t.Errorf("%s, and %v: %v", section, tt.err, err)
			}
		}
	}
}
