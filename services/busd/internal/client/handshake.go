package client

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"quartet/services/busd/internal/wire"
)

// LogIn sends everything up to Hello at once and then reads the answers.
func (c *Conn) LogIn(o Options) error {
	// The NUL byte is what old systems carry credentials with.
	auth := "\x00AUTH EXTERNAL " + hex.EncodeToString([]byte(strconv.Itoa(os.Getuid())))
	if o.Anonymous {
		auth = "\x00AUTH ANONYMOUS " + hex.EncodeToString([]byte("busd"))
	}
	lines := []string{auth}
	if o.FDs {
		lines = append(lines, "NEGOTIATE_UNIX_FD")
	}
	lines = append(lines, "BEGIN", "")
	hello := wire.Header{Type: wire.MethodCall, Serial: c.NextSerial(), Path: wire.BusPath, Interface: wire.BusName,
		Member: "Hello", Destination: wire.BusName}
	if err := c.SendRaw(append([]byte(strings.Join(lines, "\r\n")), Marshal(hello, nil)...)); err != nil {
		return err
	}
	ok, err := c.ReadLine()
	if err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	guid, found := strings.CutPrefix(ok, "OK ")
	if !found {
		return fmt.Errorf("authenticate: the bus answered %q", ok)
	}
	c.GUID = guid
	if o.FDs {
		agreed, err := c.ReadLine()
		if err != nil {
			return fmt.Errorf("negotiate descriptors: %w", err)
		}
		if agreed != "AGREE_UNIX_FD" {
			return fmt.Errorf("negotiate descriptors: the bus answered %q", agreed)
		}
	}
	reply, err := c.await(hello.Serial)
	if err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	values := reply.Values()
	if c.Name = values.String(); reply.Signature != "s" || values.Err() != nil {
		return errors.New("hello: the bus gave no name")
	}
	return nil
}

// Hello asks the bus for the unique name, for callers who authenticated by
// hand.
func (c *Conn) Hello() error {
	reply, err := c.Driver("Hello", "", nil)
	if err != nil {
		return err
	}
	values := reply.Values()
	c.Name = values.String()
	return values.Err()
}
