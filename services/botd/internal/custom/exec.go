package custom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"

	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/commandfile"
)

const (
	// searchPath and language are all that a program has of an environment
	// beside what its command lists.
	searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	language   = "LANG=C.UTF-8"

	// maxStderr is how many bytes of a program's complaint are kept.
	maxStderr = 512
)

// program is a program that answers.
type program struct {
	options Options
	of      *commandfile.Command
	exec    *commandfile.Exec
	env     []string
	secrets []string // values of env
}

// newProgram makes what a command with a program runs.
func (o Options) newProgram(c *commandfile.Command) (run, error) {
	values, err := settings(c.Exec.Env)
	p := &program{options: o, of: c, exec: c.Exec, env: []string{searchPath, language}}
	for name, value := range values {
		p.env = append(p.env, name+"="+value)
		p.secrets = append(p.secrets, value)
	}
	slices.Sort(p.env[2:])
	if _, found := exec.LookPath(c.Exec.Run[0]); found != nil {
		err = errors.Join(err, fmt.Errorf("%s is no program that can be run", c.Exec.Run[0]))
	}
	if at, found := os.Stat(c.Exec.Dir); found != nil || !at.IsDir() {
		err = errors.Join(err, fmt.Errorf("%s is no folder", c.Exec.Dir))
	}
	err = errors.Join(err, keepFiles())
	if err != nil {
		return nil, err
	}
	return p.run, nil
}

// keepFiles keeps what files the bot itself was started with from the programs
// that it starts. Those that it opened are not inherited anyway.
func keepFiles() error {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return fmt.Errorf("find out which files are open: %w", err)
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

// run runs the program once.
func (p *program) run(ctx context.Context, r command.Request) (command.Reply, error) {
	q := p.options.question(p.of, r)
	stdin, err := json.Marshal(q)
	if err != nil {
		return command.Reply{}, fmt.Errorf("write what was asked: %w", err)
	}
	out, complaint, err := p.answer(ctx, stdin)
	if err != nil {
		err = fmt.Errorf("run %s: %w", p.exec.Run[0], err)
		if len(complaint) > 0 {
			err = fmt.Errorf("%w: it says %q", err, withoutWords(string(complaint), append(q.words(), p.secrets...)))
		}
		return command.Reply{}, err
	}
	return p.options.hookReply(out)
}

var errOutput = fmt.Errorf("more than %d bytes of output", maxHook)

// answer starts the program, hands it stdin and returns what it writes, at most
// maxHook bytes. The program has no shell around it and a process group of its
// own. That is killed whole when the program has ended, when ctx ends, or when
// it writes too much.
func (p *program) answer(ctx context.Context, stdin []byte) (out, complaint []byte, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, p.exec.Run[0], p.exec.Run[1:]...)
	cmd.Env, cmd.Dir = p.env, p.exec.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd) }
	pipes, err := connect(cmd)
	if err != nil {
		return nil, nil, err
	}
	defer pipes.close()
	err = cmd.Start()
	pipes.closeTheirs()
	if err != nil {
		return nil, nil, err
	}
	ended := pipes.talk(stdin, func() { stop(errOutput) })
	unhook := context.AfterFunc(ctx, pipes.close) // whoever still holds them
	defer unhook()
	err = cmd.Wait()
	_ = killGroup(cmd) // what it has left behind
	pipes.hurry()
	<-ended
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return pipes.out.Bytes(), pipes.complaint.Bytes(), err
}

// killGroup kills the program and all that it started and that did not leave its
// group. While one of them lives the group's number is not given to others; where
// none does it was the program's until just now, and numbers are given in turn.
func killGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
