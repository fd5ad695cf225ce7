// Package logs writes a log without ever making whoever logs wait: lines go
// into a bounded queue, and a goroutine of its own writes them to a place that
// may be slow or stuck. What finds no room is dropped, counted, and told of
// once there is room again.
//
//	logs.go    Open: which lines go where
//	queue.go   the queue and its writer
//	syslog.go  the system's log
package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"unicode/utf8"
)

// Options say where a log goes. Both may be set.
type Options struct {
	// Stderr gets JSON, one object a line; nil is nowhere.
	Stderr io.Writer
	// Syslog names the program in the system's log, which gets text; "" is
	// nowhere.
	Syslog string

	Level slog.Leveler
	// Attrs are in every line of JSON.
	Attrs []slog.Attr
}

// Log is an open log.
type Log struct {
	*slog.Logger
	queues []*queue
}

// Open opens a log. A system's log that is not there is no error: lines for it
// are lost, and counted like others, until it is.
func Open(o Options) *Log {
	l := &Log{}
	var handlers []slog.Handler
	add := func(q *queue, h slog.Handler) {
		q.start(h)
		l.queues = append(l.queues, q)
		handlers = append(handlers, &handler{q, h})
	}
	if o.Stderr != nil {
		q := &queue{write: func(line line) error { _, err := o.Stderr.Write(visible(line.text)); return err }}
		add(q, slog.NewJSONHandler(&q.scratch, &slog.HandlerOptions{Level: o.Level}).WithAttrs(o.Attrs))
	}
	if o.Syslog != "" {
		q := &queue{write: (&system{tag: o.Syslog}).write}
		add(q, slog.NewTextHandler(&q.scratch, &slog.HandlerOptions{Level: o.Level, ReplaceAttr: WithoutTime}))
	}
	switch len(handlers) {
	case 0:
		l.Logger = slog.New(slog.DiscardHandler)
	case 1:
		l.Logger = slog.New(handlers[0])
	default:
		l.Logger = slog.New(slog.NewMultiHandler(handlers...))
	}
	return l
}

// Close writes what is queued, for as long as ctx lets it.
func (l *Log) Close(ctx context.Context) error {
	var all error
	for _, q := range l.queues {
		all = errors.Join(all, q.close(ctx))
	}
	return all
}

// WithoutTime leaves time and level out of a line: the system's log adds them
// itself.
func WithoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return a
}

// visible escapes the control characters that JSON lets stand, of which some
// terminals obey all: clients have a hand in the text.
func visible(text []byte) []byte {
	control := func(r rune) bool { return r >= 0x7f && r <= 0x9f }
	if !bytes.ContainsFunc(text, control) {
		return text
	}
	var all []byte
	for _, r := range string(text) {
		if control(r) {
			all = fmt.Appendf(all, `\u%04x`, r)
		} else {
			all = utf8.AppendRune(all, r)
		}
	}
	return all
}

// handler formats a record and queues it.
type handler struct {
	queue *queue
	to    slog.Handler
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.to.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	return h.queue.put(ctx, h.to, r)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.queue, h.to.WithAttrs(attrs)}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.queue, h.to.WithGroup(name)}
}
