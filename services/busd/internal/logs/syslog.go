package logs

import (
	"log/slog"
	"log/syslog"
)

// system writes to the system's log, and connects anew when that was
// restarted.
type system struct {
	tag string
	to  *syslog.Writer
}

func (s *system) write(l line) error {
	if s.to == nil {
		to, err := syslog.New(syslog.LOG_DAEMON|syslog.LOG_INFO, s.tag)
		if err != nil {
			return err
		}
		s.to = to
	}
	text := string(l.text)
	switch {
	case l.level >= slog.LevelError:
		return s.to.Err(text)
	case l.level >= slog.LevelWarn:
		return s.to.Warning(text)
	case l.level >= slog.LevelInfo:
		return s.to.Info(text)
	}
	return s.to.Debug(text)
}
