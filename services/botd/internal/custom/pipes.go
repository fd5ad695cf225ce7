package custom

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// linger is how long after a program's end more of its output is waited for. Its
// process group is dead then and all that it wrote is in the pipe; but a process
// that left the group may still hold that open.
const linger = 500 * time.Millisecond

// pipes are a program's three streams. They are real pipes, so that waiting for
// the program is not waiting for whoever has inherited its output.
type pipes struct {
	in, outEnd, errEnd *os.File
	theirs             []*os.File
	exited             chan struct{}
	out, complaint     bytes.Buffer // not to be read before talk has ended
}

func connect(cmd *exec.Cmd) (p *pipes, err error) {
	p = &pipes{exited: make(chan struct{})}
	var files [6]*os.File
	for i := 0; i < len(files) && err == nil; i += 2 {
		files[i], files[i+1], err = os.Pipe()
	}
	p.in, p.outEnd, p.errEnd = files[1], files[2], files[4]
	p.theirs = []*os.File{files[0], files[3], files[5]}
	if err != nil {
		p.closeTheirs()
		p.close()
		return nil, fmt.Errorf("open pipes: %w", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[3], files[5]
	return p, nil
}

// talk writes stdin and reads the others until they end; full is called when the
// program writes too much.
func (p *pipes) talk(stdin []byte, full func()) (ended <-chan struct{}) {
	done := make(chan struct{})
	written := make(chan struct{})
	complained := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = p.in.Write(stdin) // it need not read
		_ = p.in.Close()
	}()
	go func() {
		defer close(complained)
		from := &stream{p.errEnd, p.exited}
		if _, err := io.CopyN(&p.complaint, from, maxStderr); err == nil {
			_, _ = io.Copy(io.Discard, from) // or it would wait for us
		}
	}()
	go func() {
		defer close(done)
		if n, _ := io.CopyN(&p.out, &stream{p.outEnd, p.exited}, maxHook+1); n > maxHook {
			full()
		}
		<-written
		<-complained
	}()
	return done
}

// hurry says that the program has ended.
func (p *pipes) hurry() {
	close(p.exited)
	_ = p.in.Close()
	_ = p.outEnd.SetReadDeadline(time.Now()) // to look at exited
	_ = p.errEnd.SetReadDeadline(time.Now())
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		f.Close()
	}
}

// close closes our ends; a file that was not opened is nil, which Close takes.
func (p *pipes) close() {
	p.in.Close()
	p.outEnd.Close()
	p.errEnd.Close()
}

// stream reads what a program writes. When the program has ended it reads what
// there is, and ends where for a while nothing comes.
type stream struct {
	file   *os.File
	exited <-chan struct{}
}

func (s *stream) Read(p []byte) (int, error) {
	for late := 0; ; {
		select {
		case <-s.exited:
			_ = s.file.SetReadDeadline(time.Now().Add(linger))
			late++
		default:
		}
		n, err := s.file.Read(p)
		switch {
		case n > 0 || !errors.Is(err, os.ErrDeadlineExceeded):
			return n, err
		case late == 2: // the first may have been hurry's
			return 0, io.EOF
		}
	}
}
