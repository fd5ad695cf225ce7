package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

func isError(err error, name string) bool {
	failure, is := errors.AsType[*client.Error](err)
	return is && failure.Name == "org.freedesktop.DBus.Error."+name
}

func (c *chaos) reload() {
	if _, err := c.control.Driver("ReloadConfig", "", nil); err != nil {
		c.t.Fatal(err)
	}
}

// reloads changes the configuration all the time; every third one is broken,
// and must be refused.
func (c *chaos) reloads(ctx context.Context) {
	conn, err := client.Dial(c.bus.Address, client.Options{})
	if err != nil {
		c.fail("reload: %v", err)
		return
	}
	defer conn.Close()
	file := filepath.Join(c.bus.Dir, "bus.conf")
	for i := 0; ctx.Err() == nil; i++ {
		text := fmt.Sprintf(config, c.dir, 500+i%10)
		broken := i%3 == 2
		if broken {
			text = text[:len(text)/2]
		}
		// In one step, as an editor does: the file is never half there.
		err := os.WriteFile(file+".new", []byte(text), 0o644)
		if err == nil {
			err = os.Rename(file+".new", file)
		}
		if err != nil {
			c.fail("reload: %v", err)
			return
		}
		switch _, err := conn.Driver("ReloadConfig", "", nil); {
		case broken && isError(err, "Failed"):
			c.counts.refused.Add(1)
		case broken:
			c.fail("a broken configuration is answered with %v", err)
		case err != nil:
			c.fail("reload: %v", err)
			return
		}
		c.counts.reloads.Add(1)
		time.Sleep(2 * time.Millisecond)
	}
	if err := os.WriteFile(file, []byte(fmt.Sprintf(config, c.dir, 512)), 0o644); err != nil {
		c.fail("reload: %v", err)
	}
}

// hangUps sends SIGHUP beside that.
func (c *chaos) hangUps(ctx context.Context) {
	for ctx.Err() == nil {
		if err := c.bus.Signal(syscall.SIGHUP); err != nil {
			c.fail("SIGHUP: %v", err)
			return
		}
		time.Sleep(17 * time.Millisecond)
	}
}

// activations asks for services that do not come.
func (c *chaos) activations(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		c.activate(services[i%len(services)])
		time.Sleep(20 * time.Millisecond)
	}
}

// activate asks twice at once, by StartServiceByName and by a call, and checks
// that both hear once what is wrong.
func (c *chaos) activate(s struct{ name, exec, failure string }) {
	conn, err := client.Dial(c.bus.Address, client.Options{})
	if err != nil {
		c.fail("activate: %v", err)
		return
	}
	defer conn.Close()
	open := map[uint32]bool{}
	for _, h := range []wire.Header{
		{Path: wire.BusPath, Interface: wire.BusName, Member: "StartServiceByName", Destination: wire.BusName, Signature: "su"},
		{Path: path, Interface: iface, Member: "Do", Destination: s.name, Signature: "su"},
	} {
		h.Type = wire.MethodCall
		serial, err := conn.Send(h, func(e *wire.Encoder) {
			e.String(s.name)
			e.Uint32(0)
		})
		if err != nil {
			c.fail("activate: %v", err)
			return
		}
		open[serial] = true
	}
	for len(open) > 0 {
		m, err := conn.Next()
		if err != nil {
			c.fail("%s: %d requests are never answered: %v", s.name, len(open), err)
			return
		}
		if m.Type == wire.Signal {
			continue
		}
		if !open[m.ReplySerial] || !strings.HasSuffix(m.ErrorName, s.failure) {
			c.fail("%s: the answer to %d is %q (open %v)", s.name, m.ReplySerial, m.ErrorName, open)
		}
		delete(open, m.ReplySerial)
	}
	c.counts.activations.Add(1)
}

// puppetVariable makes this program a client of a bus that does nothing but
// read: it can be stopped, as a thread cannot.
const puppetVariable = "BUSD_TEST_PUPPET"

// puppet subscribes, says so, and reads until the bus hangs up.
func puppet(address string) int {
	conn, err := client.Dial(address, client.Options{Timeout: time.Hour})
	if err == nil {
		err = conn.AddMatch("type='signal',interface='" + iface + "'")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	for {
		if _, err := conn.Next(); err != nil {
			return 0
		}
	}
}

// puppets stops clients for longer than the bus waits, and wakes them: they
// find themselves disconnected, and nobody else is.
func (c *chaos) puppets(ctx context.Context) {
	for ctx.Err() == nil {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), puppetVariable+"="+c.bus.Address)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			c.fail("puppet: %v", err)
			return
		}
		ready := make([]byte, 6)
		if _, err := out.Read(ready); err != nil {
			c.fail("puppet: %v", err)
		}
		c.stop(ctx, cmd)
	}
}

func (c *chaos) stop(ctx context.Context, cmd *exec.Cmd) {
	end := func(s syscall.Signal) {
		if err := cmd.Process.Signal(s); err != nil {
			c.fail("puppet: %v", err)
		}
	}
	end(syscall.SIGSTOP)
	select {
	case <-ctx.Done():
		end(syscall.SIGKILL)
		_ = cmd.Wait() // that it was killed
		return
	case <-time.After(4 * sendTimeout):
	}
	end(syscall.SIGCONT)
	killed := time.AfterFunc(10*time.Second, func() { end(syscall.SIGKILL) })
	if err := cmd.Wait(); err != nil {
		c.fail("a client that was stopped for %v is not disconnected: %v", 4*sendTimeout, err)
	}
	killed.Stop()
	c.counts.stopped.Add(1)
}
