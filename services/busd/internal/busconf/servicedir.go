package busconf

import (
	"path"
	"strings"
)

// ServiceDir is a directory of .service files. Of the same service in two
// directories the one in the earlier directory counts.
type ServiceDir struct {
	Path string
	// Strict wants each file named after its service, NAME.service.
	Strict bool
	// Unwatched directories are read at start and on reload only.
	Unwatched bool
}

// sessionDirs are the directories of <standard_session_servicedirs/>, from
// the environment as the base directory specification has it.
func sessionDirs(getenv func(string) string) []ServiceDir {
	var dirs []ServiceDir
	add := func(base string) { dirs = append(dirs, ServiceDir{Path: path.Join(base, "dbus-1/services")}) }
	if run := getenv("XDG_RUNTIME_DIR"); run != "" {
		dirs = append(dirs, ServiceDir{Path: path.Join(run, "dbus-1/services"), Strict: true, Unwatched: true})
	}
	if home := getenv("XDG_DATA_HOME"); home != "" {
		add(home)
	} else if home := getenv("HOME"); home != "" {
		add(path.Join(home, ".local/share"))
	}
	shared := getenv("XDG_DATA_DIRS")
	if shared == "" {
		shared = "/usr/local/share:/usr/share"
	}
	for dir := range strings.SplitSeq(shared, ":") {
		if dir != "" {
			add(dir)
		}
	}
	add("/usr/share")
	return dirs
}

// systemDirs are the directories of <standard_system_servicedirs/>. The first
// two are for the administrator and for generators and newer than the rest,
// so that files there have always been named after their service.
func systemDirs() []ServiceDir {
	return []ServiceDir{
		{Path: "/etc/dbus-1/system-services", Strict: true},
		{Path: "/run/dbus-1/system-services", Strict: true},
		{Path: "/usr/local/share/dbus-1/system-services"},
		{Path: "/usr/share/dbus-1/system-services"},
		{Path: "/lib/dbus-1/system-services"},
	}
}
