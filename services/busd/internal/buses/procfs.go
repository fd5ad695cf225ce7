package buses

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the processor time that the bus has used so far, its ended threads
// included, by its own clock: to the nanosecond, where /proc counts in 10 ms.
func (b *Bus) CPU() (time.Duration, error) {
	// The clock of process P has the id ^P<<3 | 2 (clock_getcpuclockid).
	var ts unix.Timespec
	if err := unix.ClockGettime(^int32(b.PID)<<3|2, &ts); err != nil {
		return 0, fmt.Errorf("processor time of %s: %w", b.Kind, err)
	}
	return time.Duration(ts.Nano()), nil
}

// Memory is what a process has in memory, in bytes.
type Memory struct {
	Now  int64
	Peak int64 // since it began, or since ForgetPeak
}

// Memory is what the bus has in memory.
func (b *Bus) Memory() (Memory, error) { return memory(b.PID) }

// ForgetPeak lets the peak begin anew.
func (b *Bus) ForgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", b.PID), []byte("5"), 0)
}

// Helpers is what the processes that the bus keeps have in memory together,
// without the bus itself: pages that they share are counted for each. Where
// the kernel does not tell a process's children it is 0.
func (b *Bus) Helpers() (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", b.PID, b.PID))
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	for _, field := range strings.Fields(string(raw)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return 0, err
		}
		m, err := memory(pid)
		if err != nil {
			return 0, err
		}
		sum += m.Now
	}
	return sum, nil
}

func memory(pid int) (m Memory, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(raw)) {
		key, value, _ := strings.Cut(line, ":")
		field := map[string]*int64{"VmRSS": &m.Now, "VmHWM": &m.Peak}[key]
		if field == nil {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return m, fmt.Errorf("%s of process %d: %w", key, pid, err)
		}
		*field = kib << 10
	}
	return m, nil
}

// Files is how many files the bus has open.
func (b *Bus) Files() (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", b.PID))
	return len(entries), err
}
