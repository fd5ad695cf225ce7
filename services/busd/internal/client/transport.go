package client

import (
	"fmt"
	"net"
	"os"
	"time"

	"quartet/services/busd/internal/address"
)

// open connects to one address: unix (path or abstract), tcp or nonce-tcp.
func open(a address.Address, timeout time.Duration) (net.Conn, error) {
	switch a.Transport {
	case "unix":
		if path, ok := a.Get("path"); ok {
			return net.DialTimeout("unix", path, timeout)
		}
		if name, ok := a.Get("abstract"); ok {
			return net.DialTimeout("unix", "@"+name, timeout)
		}
		return nil, fmt.Errorf("it has neither path nor abstract")
	case "tcp", "nonce-tcp":
		conn, err := openTCP(a, timeout)
		if err != nil || a.Transport == "tcp" {
			return conn, err
		}
		if err := sendNonce(conn, a, timeout); err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	}
	return nil, fmt.Errorf("no transport %q here: it can be unix, tcp or nonce-tcp", a.Transport)
}

func openTCP(a address.Address, timeout time.Duration) (net.Conn, error) {
	host, ok := a.Get("host")
	if !ok {
		host = "localhost"
	}
	port, ok := a.Get("port")
	if !ok {
		return nil, fmt.Errorf("it has no port")
	}
	network := "tcp"
	switch family, _ := a.Get("family"); family {
	case "ipv4":
		network = "tcp4"
	case "ipv6":
		network = "tcp6"
	}
	return net.DialTimeout(network, net.JoinHostPort(host, port), timeout)
}

// sendNonce shows that we may read the server's file.
func sendNonce(conn net.Conn, a address.Address, timeout time.Duration) error {
	file, _ := a.Get("noncefile")
	nonce, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the nonce: %w", err)
	}
	if err := conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := conn.Write(nonce); err != nil {
		return fmt.Errorf("send the nonce: %w", err)
	}
	return nil
}
