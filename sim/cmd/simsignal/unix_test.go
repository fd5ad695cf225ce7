package main

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quartet/sim/internal/jsonrpc"
)

func TestJSONRPCOverAUnixSocket(t *testing.T) {
	for _, form := range []string{"unix:", "unix://"} {
		path := filepath.Join(t.TempDir(), "s")
		t.Run(form, func(t *testing.T) {
			s := start(t, "-rpc", form+path)
			info, err := os.Stat(path)
			if err != nil || info.Mode() != fs.ModeSocket|0o600 {
				t.Errorf("the file is %v, %v", info, err)
			}
			c := s.dialRPC()
			if a := c.call("send", params(`"message":"hej"`)); a.Error != nil {
				t.Errorf("answer is %+v", a.Error)
			}
			s.emit("0", "over the socket")
			if l := c.read(); l.Method != "receive" || !strings.Contains(string(l.Params), "over the socket") {
				t.Errorf("line is %+v", l)
			}
		})
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after the stop the file is there: %v", err)
		}
	}
}

func TestASocketThatAnEarlierProcessLeftIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	s := start(t, "-rpc", "unix://"+path)
	if a := s.dialRPC().call("version", "{}"); a.Error != nil {
		t.Errorf("answer is %+v", a.Error)
	}
	// This one is in use: it stays as it is.
	refused(t, "unix://"+path, "somebody listens")
	conn, err := net.Dial("unix", path) // not dialRPC, which counts: who only asked may still be counted
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if a := (&rpcClient{s, conn, bufio.NewReader(conn)}).call("version", "{}"); a.Error != nil {
		t.Errorf("answer is %+v", a.Error)
	}
}

func TestOtherFilesAndRelativePathsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, "unix://"+path, "no socket")
	if kept, err := os.ReadFile(path); err != nil || string(kept) != "kept" {
		t.Errorf("%s, %v", kept, err)
	}
	refused(t, "unix:socket", "want unix:/path")
	refused(t, "unix://", "want unix:/path")
	refused(t, "unix://"+filepath.Dir(path)+"/none/s", "no such file")
}

// refused starts a simulator that cannot have its socket.
func refused(t *testing.T, address, says string) {
	t.Helper()
	err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-rpc", address}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, want %q", address, err, says)
	}
}

func FuzzSocketPath(f *testing.F) {
	for _, address := range []string{"unix:///run/s", "unix:/run/s", "unix:s", "127.0.0.1:7583", "", "unix://"} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		path, ok := jsonrpc.SocketPath(address)
		if ok != strings.HasPrefix(address, "unix:") || ok && "unix:"+path != address && "unix://"+path != address {
			t.Errorf("%q is %q, %v", address, path, ok)
		}
	})
}
