package busconf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits bound what connections may use. A field is named after its <limit>.
type Limits struct {
	// MaxIncomingBytes is what may wait for one service that is being started.
	// In dbus-daemon it is what was read of one connection and not yet
	// dispatched, and here nothing waits so.
	MaxIncomingBytes int64
	// MaxIncomingUnixFDs would be of descriptors likewise. It is read so that
	// files which set it load.
	MaxIncomingUnixFDs int64
	// Bytes and descriptors that are queued for one connection and not yet
	// written. One more message is let in while the sum is below the limit.
	MaxOutgoingBytes, MaxOutgoingUnixFDs int64

	MaxMessageSize    int64 // bytes
	MaxMessageUnixFDs int64

	// 0 is at once.
	ServiceStartTimeout time.Duration
	AuthTimeout         time.Duration
	PendingFDTimeout    time.Duration
	// ReplyTimeout is how long a call may wait for its reply; 0 and negative
	// for ever.
	ReplyTimeout time.Duration

	MaxCompletedConnections    int
	MaxIncompleteConnections   int
	MaxConnectionsPerUser      int
	MaxPendingServiceStarts    int
	MaxNamesPerConnection      int
	MaxMatchRulesPerConnection int
	MaxRepliesPerConnection    int

	Containers ContainerLimits
}

// ContainerLimits bound app containers. They are read so that files which set
// them load.
type ContainerLimits struct {
	MaxContainers              int
	MaxContainersPerUser       int
	MaxConnectionsPerContainer int
	MaxContainerMetadataBytes  int
}

// DefaultLimits are the limits of a file that sets none: those compiled into
// dbus-daemon.
func DefaultLimits() Limits {
	const mebibyte = 1 << 20
	return Limits{
		MaxIncomingBytes:           127 * mebibyte,
		MaxOutgoingBytes:           127 * mebibyte,
		MaxIncomingUnixFDs:         64,
		MaxOutgoingUnixFDs:         64,
		MaxMessageSize:             32 * mebibyte,
		MaxMessageUnixFDs:          16,
		ServiceStartTimeout:        25 * time.Second,
		AuthTimeout:                30 * time.Second,
		PendingFDTimeout:           150 * time.Second,
		ReplyTimeout:               -1,
		MaxCompletedConnections:    2048,
		MaxIncompleteConnections:   64,
		MaxConnectionsPerUser:      256,
		MaxPendingServiceStarts:    512,
		MaxNamesPerConnection:      512,
		MaxMatchRulesPerConnection: 512,
		MaxRepliesPerConnection:    128,
		Containers: ContainerLimits{
			MaxContainers:              512,
			MaxContainersPerUser:       16,
			MaxConnectionsPerContainer: 8,
			MaxContainerMetadataBytes:  4096,
		},
	}
}

// limits says where the value of each limit goes, in the order of the manual.
// An *int64 takes any number, the others what fits 32 bits; a *time.Duration
// is in milliseconds.
var limits = []struct {
	name  string
	field func(*Limits) any
}{
	{"max_incoming_bytes", func(l *Limits) any { return &l.MaxIncomingBytes }},
	{"max_incoming_unix_fds", func(l *Limits) any { return &l.MaxIncomingUnixFDs }},
	{"max_outgoing_bytes", func(l *Limits) any { return &l.MaxOutgoingBytes }},
	{"max_outgoing_unix_fds", func(l *Limits) any { return &l.MaxOutgoingUnixFDs }},
	{"max_message_size", func(l *Limits) any { return &l.MaxMessageSize }},
	{"max_message_unix_fds", func(l *Limits) any { return &l.MaxMessageUnixFDs }},
	{"service_start_timeout", func(l *Limits) any { return &l.ServiceStartTimeout }},
	{"auth_timeout", func(l *Limits) any { return &l.AuthTimeout }},
	{"pending_fd_timeout", func(l *Limits) any { return &l.PendingFDTimeout }},
	{"max_completed_connections", func(l *Limits) any { return &l.MaxCompletedConnections }},
	{"max_incomplete_connections", func(l *Limits) any { return &l.MaxIncompleteConnections }},
	{"max_connections_per_user", func(l *Limits) any { return &l.MaxConnectionsPerUser }},
	{"max_pending_service_starts", func(l *Limits) any { return &l.MaxPendingServiceStarts }},
	{"max_names_per_connection", func(l *Limits) any { return &l.MaxNamesPerConnection }},
	{"max_match_rules_per_connection", func(l *Limits) any { return &l.MaxMatchRulesPerConnection }},
	{"max_replies_per_connection", func(l *Limits) any { return &l.MaxRepliesPerConnection }},
	{"reply_timeout", func(l *Limits) any { return &l.ReplyTimeout }},
	{"max_containers", func(l *Limits) any { return &l.Containers.MaxContainers }},
	{"max_containers_per_user", func(l *Limits) any { return &l.Containers.MaxContainersPerUser }},
	{"max_connections_per_container", func(l *Limits) any { return &l.Containers.MaxConnectionsPerContainer }},
	{"max_container_metadata_bytes", func(l *Limits) any { return &l.Containers.MaxContainerMetadataBytes }},
}

// LimitNames are the names of all limits, in the order of the manual.
func LimitNames() []string {
	names := make([]string, len(limits))
	for i := range limits {
		names[i] = limits[i].name
	}
	return names
}

// Get is a limit by its name, timeouts in milliseconds, -1 for never; false
// for a name that is none.
func (l *Limits) Get(name string) (int64, bool) {
	switch p := l.field(name).(type) {
	case *int64:
		return *p, true
	case *int:
		return int64(*p), true
	case *time.Duration:
		if *p < 0 {
			return -1, true
		}
		return p.Milliseconds(), true
	}
	return 0, false
}

// Set takes a <limit> as written: a name and a whole number, decimal or in the
// notations of C.
func (l *Limits) Set(name, value string) error {
	field := l.field(name)
	if field == nil {
		return fmt.Errorf("limit %q is unknown: there are %s", name, strings.Join(LimitNames(), ", "))
	}
	// ParseInt would also take Go's underscores.
	n, err := strconv.ParseInt(strings.ReplaceAll(value, "_", "?"), 0, 64)
	if err != nil {
		return fmt.Errorf("limit %s must be a whole number, not %q", name, value)
	}
	most := int64(math.MaxInt32)
	if _, wide := field.(*int64); wide {
		most = math.MaxInt64
	}
	if n < 0 || n > most {
		return fmt.Errorf("limit %s must be from 0 to %d, not %s", name, most, value)
	}
	switch p := field.(type) {
	case *int64:
		*p = n
	case *int:
		*p = int(n)
	case *time.Duration:
		*p = time.Duration(n) * time.Millisecond
	}
	return nil
}

// field is where the limit is kept, nil for an unknown name.
func (l *Limits) field(name string) any {
	for i := range limits {
		if limits[i].name == name {
			return limits[i].field(l)
		}
	}
	return nil
}
