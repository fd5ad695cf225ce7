package buses

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// installed is the configuration of the session bus on this machine.
const installed = "/usr/share/dbus-1/session.conf"

// startDaemon runs busd or dbus-daemon: both have the same command line.
func (b *Bus) startDaemon(binary string, o Options) error {
	config, address := installed, o.Address
	if o.Config != "" {
		config = filepath.Join(b.Dir, "bus.conf")
		if err := os.WriteFile(config, []byte(o.Config), 0o644); err != nil {
			return err
		}
	} else if address == "" {
		address = "unix:path=" + filepath.Join(b.Dir, "socket")
	}
	printed, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer printed.Close()
	args := []string{"--config-file=" + config, "--nofork", "--nopidfile", "--print-address=3"}
	if address != "" {
		args = append(args, "--address="+address)
	}
	cmd := exec.Command(binary, append(args, o.Args...)...)
	cmd.ExtraFiles = []*os.File{write}
	err = b.run(cmd, o)
	write.Close()
	if err != nil {
		return err
	}
	if err := printed.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	line, err := bufio.NewReader(printed).ReadString('\n')
	if b.Address = strings.TrimSpace(line); err != nil || b.Address == "" {
		return fmt.Errorf("it printed no address but %q: %w", line, orEnded(err))
	}
	return nil
}
