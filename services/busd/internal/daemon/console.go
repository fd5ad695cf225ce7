package daemon

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// console is the places that say who sits at this machine.
type console struct {
	seats string // is there if logind is
	users string // of logind: a file for each user, called by the number
	files string // where there is no logind: a file for each who is there, called by the name
}

var theConsole = console{"/run/systemd/seats", "/run/systemd/users", "/run/console"} // a variable for tests

// who answers of a user at any time. People come and go while a bus runs, and
// logind comes after it, so that is looked up when it is asked for, in memory.
// The files are read now; when they change, the configuration is read again.
func (c console) who() func(uid uint32) bool {
	here := map[uint32]bool{}
	entries, _ := os.ReadDir(c.files) // most machines have none, and nobody is at the console then
	for _, e := range entries {
		if uid, known, _ := userID(e.Name()); known {
			here[uid] = true
		}
	}
	return func(uid uint32) bool {
		if _, err := os.Stat(c.seats); err != nil {
			return here[uid]
		}
		return c.online(uid)
	}
}

// online says whether logind has a session of a user that belongs to a seat,
// as sd_uid_get_seats(3) does.
func (c console) online(uid uint32) bool {
	text, err := os.ReadFile(filepath.Join(c.users, strconv.FormatUint(uint64(uid), 10)))
	if err != nil {
		return false // who has no session has no file
	}
	seats := ""
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, "ONLINE_SEATS="); is {
			seats = strings.Trim(value, "\"\n ")
		}
	}
	return seats != ""
}
