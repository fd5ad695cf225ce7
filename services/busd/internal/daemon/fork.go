package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/listen"
)

// Go cannot fork. A bus that is to be in the background is this program,
// started again; who starts it waits until it takes connections, prints what
// was asked for, and ends.

// marker is the variable that tells the second process so: its value is a
// descriptor to report to, and the process that waits.
const marker = "BUSD_BACKGROUND"

// firstFD is where inherited sockets and then the report's pipe are.
const firstFD = 3

// report is what the process in the background tells the one in front.
type report struct {
	Address string
	Error   string
}

// background starts the bus in the background and waits until it is ready.
func background(o Options, args []string) error {
	read, pipe, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	files := []*os.File{null, null, null}
	inherited, _ := listen.Inherited(listen.Options{Getenv: os.Getenv, PID: os.Getpid()}) // whoever needs some is told why there are none
	for fd := firstFD; fd < firstFD+inherited; fd++ {
		files = append(files, os.NewFile(uintptr(fd), "listening"))
	}
	files = append(files, pipe)
	process, err := os.StartProcess("/proc/self/exe", append([]string{os.Args[0]}, args...), &os.ProcAttr{
		Env:   append(os.Environ(), fmt.Sprintf("%s=%d:%d", marker, len(files)-1, os.Getpid())),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	pipe.Close()
	if err != nil {
		return fmt.Errorf("go into the background: %w", err)
	}
	var said report
	if err := json.NewDecoder(read).Decode(&said); err != nil {
		state, waitErr := process.Wait()
		return errors.Join(fmt.Errorf("the process in the background ended at its start: %v; start it with --nofork to see why", state), waitErr)
	}
	if said.Error != "" {
		return errors.New(said.Error)
	}
	if err := o.print(said.Address, process.Pid); err != nil {
		_ = process.Signal(syscall.SIGTERM)
		return err
	}
	return nil
}

// behind is a process that was put in the background.
type behind struct {
	pipe  *os.File
	front int // the process that waits
}

// fromFront says whether this process was put in the background; nil if not.
func fromFront() (*behind, error) {
	value := os.Getenv(marker)
	if value == "" {
		return nil, nil
	}
	first, second, _ := strings.Cut(value, ":")
	fd, err := strconv.Atoi(first)
	front, err2 := strconv.Atoi(second)
	if errors.Join(err, err2) != nil || fd < firstFD {
		return nil, errors.New(marker + " is only for busd's own use: unset it")
	}
	if err := os.Unsetenv(marker); err != nil {
		return nil, err
	}
	unix.CloseOnExec(fd)
	return &behind{pipe: os.NewFile(uintptr(fd), "report"), front: front}, nil
}

// report runs a bus and tells the process in front when it is ready, or why it
// is not.
func (b *behind) report(run func(ready func(address string) error) error) error {
	told := false
	tell := func(r report) error {
		told = true
		return errors.Join(json.NewEncoder(b.pipe).Encode(r), b.pipe.Close())
	}
	err := run(func(address string) error {
		if err := os.Chdir("/"); err != nil {
			return err
		}
		return tell(report{Address: address})
	})
	if err != nil && !told {
		_ = tell(report{Error: err.Error()}) // nobody else is there to be told
	}
	return err
}
