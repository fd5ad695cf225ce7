package upstream_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"quartet/kit/pool"
	"quartet/services/botd/internal/upstream"
)

func guard(t *testing.T, allow ...string) *upstream.Guard {
	t.Helper()
	return upstream.NewGuard(allow, net.Dialer{Timeout: 2 * time.Second})
}

func TestGuardRefusesAddressesThatAreNotPublic(t *testing.T) {
	g := guard(t)
	for _, address := range []string{
		"127.0.0.1:80", "localhost:80", "[::1]:80", "0.0.0.0:80", "10.1.2.3:80", "172.16.0.1:80", "192.168.1.1:80",
		"169.254.169.254:80", "100.64.0.1:80", "198.18.0.1:80", "224.0.0.1:80", "255.255.255.255:80", "240.0.0.1:80",
		"[fe80::1]:80", "[fc00::1]:80", "[ff02::1]:80", "[::ffff:127.0.0.1]:80", "[::ffff:10.0.0.1]:80",
		"[64:ff9b::7f00:1]:80", "[2002:7f00:1::]:80", "[2001:db8::1]:80", "[::]:80",
		"[::7f00:1]:80", "[fec0::1]:80", "[3fff::1]:80", "[100::1]:80", "[2001:db8::1%lo]:80",
	} {
		conn, err := g.Dial(t.Context(), "tcp", address)
		if err == nil {
			conn.Close()
		}
		if !errors.Is(err, upstream.ErrPrivateAddress) {
			t.Errorf("%s: %v, want ErrPrivateAddress", address, err)
		}
	}
}

func TestGuardKeepsPublicAddresses(t *testing.T) {
	for _, address := range []string{"93.184.216.34:443", "8.8.8.8:53", "[2606:4700::1111]:443", "[::ffff:8.8.8.8]:443"} {
		if err := upstream.RefusePrivate("tcp", address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// An exception is one host:port as written: not the host's other ports, not
// the same machine under another name.
func TestGuardExceptionsAreExact(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	allowed := s.Listener.Addr().String()
	g := guard(t, allowed)
	conn, err := g.Dial(t.Context(), "tcp", allowed)
	if err != nil {
		t.Fatalf("the exception was refused: %v", err)
	}
	conn.Close()
	_, port, _ := net.SplitHostPort(allowed)
	for _, address := range []string{"127.0.0.1:1", "localhost:" + port} {
		if _, err := g.Dial(t.Context(), "tcp", address); !errors.Is(err, upstream.ErrPrivateAddress) {
			t.Errorf("%s: %v, want ErrPrivateAddress", address, err)
		}
	}
}

func TestGuardKeepsToItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := guard(t).Dial(ctx, "tcp", "93.184.216.34:443"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// It is the operator who can mend that, and a host that is down is another matter.
func TestAPrivateAddressStaysAPrivateAddress(t *testing.T) {
	client := pool.New("inside", pool.Options{Dial: guard(t).Dial})
	pictures := upstream.NewPictures("botd-test", client, hosts(t, "127.0.0.1:1"))
	for range 2 * upstream.MaxFailures {
		if _, err := pictures.Get(t.Context(), "http://127.0.0.1:1/cat.png"); !errors.Is(err, upstream.ErrPrivateAddress) {
			t.Fatalf("error %v", err)
		}
	}
}
