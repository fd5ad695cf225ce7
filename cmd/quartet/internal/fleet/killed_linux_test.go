package fleet_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"testing"
)

// Only Linux ties a child's life to its parent's.
func TestKilledLauncherTakesItsProgramsAlong(t *testing.T) {
	dir, addr := t.TempDir(), freeAddr(t)
	launcher := exec.Command(os.Args[0])
	launcher.Env = append(os.Environ(), "PLAY=launcher", "LOGS="+dir, "ADDR="+addr)
	out, err := launcher.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := launcher.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "started\n" {
		t.Fatalf("the launcher said %q, %v", line, err)
	}
	if err := launcher.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	launcher.Wait()
	eventually(t, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	}, "the program still listens after its launcher was killed")
}
