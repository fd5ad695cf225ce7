package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary plays the launcher and the programs it starts, by the name
// it is called by: binaries makes the links.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "quartet":
		main()
	case "simweb", "simsignal", "simbus":
		play(os.Args[slices.Index(os.Args, "-listen")+1])
	case "botd":
		if fault := os.Getenv("BOTD_FAULT"); fault != "" {
			fmt.Fprintln(os.Stderr, "a fault:", fault)
			os.Exit(4)
		}
		if os.Getenv("BOTD_SLOW") != "" {
			play("127.0.0.1:0") // where nobody asks
		}
		play(os.Getenv("BOTD_ADMIN_ADDR"))
	case "busd":
		play(os.Getenv("BUSD_ADMIN_ADDR"))
	default:
		os.Exit(m.Run())
	}
}

// play answers as all programs do, until SIGTERM.
func play(addr string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/_sim/health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/_sim/stats", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"sends":12}`) })
	mux.HandleFunc("POST /_sim/frames", func(w http.ResponseWriter, req *http.Request) {
		text, _ := io.ReadAll(req.Body)
		fmt.Printf("frames: %s\n", text)
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, metrics) })
	go http.ListenAndServe(addr, mux)
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	<-term
	os.Exit(0)
}

const metrics = `
# TYPE quartet_request_duration_seconds histogram
quartet_request_duration_seconds_bucket{operation="kot",outcome="ok",le="+Inf"} 3
quartet_request_duration_seconds_sum{operation="kot",outcome="ok"} 12
quartet_request_duration_seconds_count{operation="kot",outcome="ok"} 3
# TYPE quartet_request_phase_duration_seconds histogram
quartet_request_phase_duration_seconds_bucket{operation="kot",phase="send",le="+Inf"} 3
quartet_request_phase_duration_seconds_sum{operation="kot",phase="send"} 7.5
quartet_request_phase_duration_seconds_count{operation="kot",phase="send"} 3
`

func TestUpStartsShowsAndStops(t *testing.T) {
	bin := binaries(t)
	out, code := quartet(t, bin, "up", "--for", "200ms", "--ports", strconv.Itoa(freePorts(t)))
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	for _, want := range []string{
		"botd       ready after", "group chat: type !kot", "/metrics",
		filepath.Join(bin, "run"), "stops by itself after 200ms", "stopping after",
		"operation  count  ok", "kot      3   3", "2,500",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not say %q:\n%s", want, out)
		}
	}
	log, err := os.ReadFile(filepath.Join(bin, "run", "simsignal.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"text":"!pomoc"`, `"text":"!kot"`, `"group":"` + chatGroup + `"`} {
		if !strings.Contains(string(log), want) {
			t.Errorf("nobody opened the chat with %s: %s", want, log)
		}
	}
}

func TestWithoutChatterNobodyWrites(t *testing.T) {
	bin := binaries(t)
	out, code := quartet(t, bin, "up", "--for", "1ms", "--chatter", "0", "--ports", strconv.Itoa(freePorts(t)))
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	if log, err := os.ReadFile(filepath.Join(bin, "run", "simsignal.log")); err != nil || len(log) > 0 {
		t.Errorf("log %q, %v", log, err)
	}
}

func TestSecondUpIsRefusedAndDownStopsTheFirst(t *testing.T) {
	bin, base := binaries(t), freePorts(t)
	if out, code := quartet(t, bin, "down"); code != 0 || !strings.Contains(out, "nothing runs in") {
		t.Errorf("down before up: exit code %d: %s", code, out)
	}
	first := startUp(t, bin, base)
	awaitAnswer(t, fmt.Sprintf("http://127.0.0.1:%d/readyz", base+2))

	if out, code := quartet(t, bin, "up"); code != 1 || !strings.Contains(out, "already running") || !strings.Contains(out, "make down") {
		t.Errorf("second up: exit code %d: %s", code, out)
	}
	if out, code := quartet(t, bin, "down"); code != 0 || !strings.Contains(out, "stopped") {
		t.Errorf("down: exit code %d: %s", code, out)
	}
	first.awaitEnd(t)
	if out, code := quartet(t, bin, "up", "--for", "1ms", "--ports", strconv.Itoa(base)); code != 0 {
		t.Errorf("up after down: exit code %d: %s", code, out)
	}
}

// Between the lock and the number, and between the number and the unlocking, the file
// says nothing: down must not end with an error when it looks just then.
func TestWhoIsAboutToStartOrEndHoldsNothing(t *testing.T) {
	data := t.TempDir()
	release, err := claim(data)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if pid, err := holder(data); pid != os.Getpid() || err != nil {
		t.Errorf("held: %d, %v", pid, err)
	}
	if err := os.Truncate(filepath.Join(data, pidFile), 0); err != nil {
		t.Fatal(err)
	}
	if pid, err := holder(data); pid != 0 || err != nil {
		t.Errorf("no number: %d, %v", pid, err)
	}
}

func TestStopWhileItStartsIsNoError(t *testing.T) {
	t.Setenv("BOTD_SLOW", "1")
	base := freePorts(t)
	up := startUp(t, binaries(t), base)
	awaitAnswer(t, fmt.Sprintf("http://127.0.0.1:%d/v1/health", base))
	if err := up.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	up.awaitEnd(t)
}

// nohup says that the end of the terminal is to end nothing.
func TestNohupHolds(t *testing.T) {
	base := freePorts(t)
	up := startCommand(t, exec.Command("sh", "-c", `trap "" HUP; exec "$@"`, "sh", filepath.Join(binaries(t), "quartet"), "up", "--ports", strconv.Itoa(base)))
	awaitAnswer(t, fmt.Sprintf("http://127.0.0.1:%d/readyz", base+2))
	if err := up.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-up.ended:
		t.Fatalf("it ended with %v:\n%s", err, up.out)
	case <-time.After(2 * time.Second):
	}
	if err := up.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	up.awaitEnd(t)
}

func TestDyingProgramEndsTheRun(t *testing.T) {
	t.Setenv("BOTD_FAULT", "no such number")
	base := freePorts(t)
	out, code := quartet(t, binaries(t), "up", "--ports", strconv.Itoa(base))
	if code != 1 || !strings.Contains(out, "botd ended by itself (exit status 4)") || !strings.Contains(out, "a fault: no such number") {
		t.Errorf("exit code %d: %s", code, out)
	}
	for port := base; port < base+rowOfPorts; port++ {
		l, err := net.Listen("tcp", loopback(port))
		if err != nil {
			t.Errorf("something still runs: %v", err)
			continue
		}
		l.Close()
	}
}

func TestBusyPortSaysWhatToDo(t *testing.T) {
	base := freePorts(t)
	l, err := net.Listen("tcp", loopback(base+1))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, code := quartet(t, binaries(t), "up", "--ports", strconv.Itoa(base))
	for _, want := range []string{loopback(base + 1), "simweb", "--ports"} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, no %q in: %s", code, want, out)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	cases := []struct {
		args []string
		code int
		want string
	}{
		{nil, 2, "quartet up"},
		{[]string{"--help"}, 0, "quartet up"},
		{[]string{"up", "--help"}, 0, "-chatter"},
		{[]string{"upp"}, 2, `no command "upp"`},
		{[]string{"up", "now"}, 2, `"now" is not a flag`},
		{[]string{"up", "--ports", "70000"}, 2, "-ports must lie"},
		{[]string{"up", "--for", "-1s"}, 2, "cannot be negative"},
		{[]string{"down", "--chatter", "1s"}, 2, "not defined"},
	}
	bin := binaries(t)
	for _, c := range cases {
		if out, code := quartet(t, bin, c.args...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%q: exit code %d, want %d with %q: %s", c.args, code, c.code, c.want, out)
		}
	}
}

func TestLiveLines(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/metrics":
			fmt.Fprint(w, metrics)
		case "/_sim/stats":
			fmt.Fprint(w, `{"sends":12,"frames_dropped":{"slow reader":2,"no reader":3}}`)
		default:
			http.Error(w, "starting", http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	r := newReader()
	cases := map[string]program{
		"     3 replies  own p50 - p95 - | upstream 0.00  send 2,500 ms": {metrics: s.URL + "/metrics", unit: "replies"},
		"    12 sends taken       5 dropped": {
			stats: s.URL + "/_sim/stats", figures: []figure{{"sends", "sends taken"}, {"frames_dropped", "dropped"}},
		},
		"no figures: " + s.URL + "/other answers 503": {metrics: s.URL + "/other"},
	}
	for want, p := range cases {
		if got := r.line(t.Context(), p); !strings.HasPrefix(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestBusIsFoundWhateverItsFolderIsCalled(t *testing.T) {
	for path, want := range map[string]string{
		"/srv/quartet-1.0/run_x/bus": "unix:path=/srv/quartet-1.0/run_x/bus",
		"/home/Łucja/a b,c;d=e/bus":  "unix:path=/home/%c5%81ucja/a%20b%2cc%3bd%3de/bus",
	} {
		if got := busAddress(path); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestEnvironmentOfTheCallerPassesButNotOverOurs(t *testing.T) {
	all := programs(options{bin: "/bin"}, []string{"BOTD_LIMIT=32", "BOTD_NUMBER=+1"})
	botd := slices.IndexFunc(all, func(p program) bool { return p.Name == "botd" })
	cmd := exec.Cmd{Env: all[botd].Env}
	env := cmd.Environ()
	wants := map[string]string{"BOTD_LIMIT": "32", "BOTD_NUMBER": "+15550100000", "BOTD_DRAIN_TIMEOUT": drainWithin.String()}
	for name, want := range wants {
		if !slices.Contains(env, name+"="+want) {
			t.Errorf("%s is not %s in %q", name, want, env)
		}
	}
}

// binaries makes a folder in which the launcher and its programs are this test
// binary.
func binaries(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"quartet", "simweb", "simsignal", "botd", "busd", "simbus"} {
		// os.Executable follows a symbolic link, and --bin's default with it.
		target := filepath.Join(dir, name)
		if err := os.Link(self, target); err == nil {
			continue
		}
		data, err := os.ReadFile(self) // another file system
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// running is a launcher that runs beside the test.
type running struct {
	cmd   *exec.Cmd
	out   *bytes.Buffer // read it after the end
	ended chan error
}

func startUp(t *testing.T, bin string, base int) running {
	t.Helper()
	return startCommand(t, exec.Command(filepath.Join(bin, "quartet"), "up", "--ports", strconv.Itoa(base)))
}

func startCommand(t *testing.T, cmd *exec.Cmd) running {
	t.Helper()
	up := running{cmd, &bytes.Buffer{}, make(chan error, 1)}
	up.cmd.Stdout, up.cmd.Stderr = up.out, up.out
	if err := up.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { up.ended <- up.cmd.Wait() }()
	t.Cleanup(func() { up.cmd.Process.Kill() })
	return up
}

// awaitEnd wants exit code 0.
func (r running) awaitEnd(t *testing.T) {
	t.Helper()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Errorf("the launcher ended with %v:\n%s", err, r.out)
		}
	case <-time.After(time.Minute):
		t.Fatal("the launcher still runs")
	}
}

// quartet runs the launcher to its end and returns all it printed.
func quartet(t *testing.T, bin string, args ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "quartet"), args...)
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// rowOfPorts is how many the system takes.
const rowOfPorts = 5

// freePorts is the first of a row of ports that were free a moment ago.
func freePorts(t *testing.T) int {
	t.Helper()
	// Below the ports that the system gives to outgoing connections.
	for base := 21000 + os.Getpid()%10000; base < 32000; base += rowOfPorts {
		free := 0
		for port := base; port < base+rowOfPorts; port++ {
			if l, err := net.Listen("tcp", loopback(port)); err == nil {
				l.Close()
				free++
			}
		}
		if free == rowOfPorts {
			return base
		}
	}
	t.Fatal("no free ports in a row")
	return 0
}

func awaitAnswer(t *testing.T, url string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if resp, err := http.Get(url); err == nil {
			resp.Body.Close()
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatal("no answer from " + url)
}
