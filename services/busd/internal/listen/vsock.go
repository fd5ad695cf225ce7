package listen

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/address"
)

// planVsock reads an address. The transport is not in the specification; zbus
// knows it, with these keys. Without cid it is reached under all numbers of this
// machine, and without port under one that the kernel chooses.
func planVsock(a address.Address) (*unix.SockaddrVM, error) {
	if err := only(a, "cid", "port"); err != nil {
		return nil, err
	}
	sa := &unix.SockaddrVM{CID: unix.VMADDR_CID_ANY, Port: unix.VMADDR_PORT_ANY}
	for key, field := range map[string]*uint32{"cid": &sa.CID, "port": &sa.Port} {
		text, found := a.Get(key)
		if !found {
			continue
		}
		number, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s %q is not a number of 32 bits", key, text)
		}
		*field = uint32(number)
	}
	return sa, nil
}

// openVsock opens a socket between a virtual machine and its host.
func openVsock(_ context.Context, a address.Address, _ Options) ([]*Listener, error) {
	sa, err := planVsock(a)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	err = os.NewSyscallError("bind", unix.Bind(fd, sa))
	if err == nil {
		err = start(fd)
	}
	text := ""
	if err == nil {
		text, _, err = whereabouts(fd)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return []*Listener{{FD: fd, Address: text}}, nil
}

// localCID is the number under which this machine is reached: that of a
// virtual machine, or loopback where there is none.
func localCID() uint32 {
	f, err := os.Open("/dev/vsock")
	if err != nil {
		return unix.VMADDR_CID_LOCAL
	}
	defer f.Close()
	cid, err := unix.IoctlGetUint32(int(f.Fd()), unix.IOCTL_VM_SOCKETS_GET_LOCAL_CID)
	if err != nil || cid == unix.VMADDR_CID_ANY {
		return unix.VMADDR_CID_LOCAL
	}
	return cid
}
