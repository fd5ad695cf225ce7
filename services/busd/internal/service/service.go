// Package service reads what a bus needs in order to start a program for a
// name: .service files and the command lines in them (D-Bus Specification,
// "Message Bus Starting Services (Activation)").
//
// It is pure: bytes in, values out. Which directories the files lie in is
// the business of package catalog.
package service

import (
	"errors"
	"fmt"
)

// MaxSize is the most bytes a .service file may have. It is dbus-daemon's
// limit, far above any honest file: it keeps a stray core dump that is named
// x.service from being read into memory.
const MaxSize = 128 << 10

// groupName is the only group of a .service file that a bus reads.
const groupName = "D-BUS Service"

// Service is one .service file. Values are unescaped; absent ones are "".
type Service struct {
	// Name is the well-known name the program takes. It is never empty, but
	// not checked to be a valid bus name.
	Name string
	// Exec is the command line, to be split by Words. Empty when nothing is
	// to be run: the bus then only waits for the name.
	Exec string
	// User is who runs the program on a bus with a setuid helper, which
	// refuses a file without one. Other buses ignore it.
	User string
	// SystemdService is the unit that provides the name where systemd starts
	// the services.
	SystemdService string
}

// FileName is what the file has to be called where the name is looked up by
// file: on a bus with a setuid helper and in transient directories.
func (s Service) FileName() string { return s.Name + ".service" }

// Parse reads a whole .service file. An error names the line.
func Parse(text []byte) (Service, error) {
	if len(text) > MaxSize {
		return Service{}, fmt.Errorf("the file has %d bytes, more than the %d a .service file may have", len(text), MaxSize)
	}
	keys, err := readGroup(string(text), groupName)
	if err != nil {
		return Service{}, err
	}
	if keys == nil {
		return Service{}, errors.New("there is no group [" + groupName + "]")
	}
	s := Service{
		Name:           keys["Name"],
		Exec:           keys["Exec"],
		User:           keys["User"],
		SystemdService: keys["SystemdService"],
	}
	if s.Name == "" {
		return Service{}, errors.New("there is no Name= in the group [" + groupName + "]")
	}
	return s, nil
}
