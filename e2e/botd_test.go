package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"quartet/e2e/internal/stack"
)

// ask emits frames in the group, each from a person of its own.
func ask(texts ...string) []stack.Frame {
	var frames []stack.Frame
	for i, text := range texts {
		frames = append(frames, stack.Frame{Text: text, Sender: person(i), Group: stack.GroupID})
	}
	return frames
}

func person(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1) }

// collect returns the first n messages that the bot sent.
func collect(t testing.TB, s stack.Sim, n int) []stack.Sent {
	t.Helper()
	var all []stack.Sent
	var after int64
	for deadline := time.Now().Add(stack.Patience); len(all) < n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d messages came", len(all), n)
		}
		var page []stack.Sent
		page, after = s.Sends(t, after, time.Second)
		all = append(all, page...)
	}
	return all
}

func TestBotAnswersInTheGroup(t *testing.T) {
	b := stack.StartBotd(t, stack.Options{})
	b.Signal.Say(t, 5*time.Millisecond, ask("!pomoc", "!kot", "!ja", "dzień dobry", "!nieznane")...)
	sends := collect(t, b.Signal, 3)
	var texts, pictures int
	for _, s := range sends {
		switch {
		case len(s.Attachments) == 1 && strings.HasPrefix(s.Attachments[0].ContentType, "image/") && s.Attachments[0].Bytes > 1000:
			pictures++
		case strings.Contains(s.Message, "!pomoc") || strings.Contains(s.Message, "od początku"):
			texts++
		}
		if !slices.ContainsFunc(s.Recipients, func(r string) bool { return strings.HasPrefix(r, "group.") }) {
			t.Errorf("answered to %v", s.Recipients)
		}
	}
	if texts != 2 || pictures != 1 {
		t.Errorf("%d texts and %d pictures, want 2 and 1: %+v", texts, pictures, sends)
	}
}

// A picture from Commons says where it is from; its author and licence stand there too, where Commons knows them.
func TestPictureFromCommonsSaysWhereItIsFrom(t *testing.T) {
	b := stack.StartBotd(t, stack.Options{})
	b.Signal.Say(t, 0, ask("!obraz rudy kot")...)
	sends := collect(t, b.Signal, 1)
	if s := sends[0]; len(s.Attachments) != 1 || !strings.Contains(s.Message, "/wiki/File:") {
		t.Errorf("sent %+v", s)
	}
	b.Web.Put(t, "quirks", map[string]any{"commons_empty": 1})
	b.Signal.Say(t, 0, stack.Frame{Text: "!picture gęś", Sender: person(7), Group: stack.GroupID})
	if s := collect(t, b.Signal, 2)[1]; len(s.Attachments) != 0 || !strings.Contains(s.Message, "gęś") {
		t.Errorf("nothing was found, and sent %+v", s)
	}
}

// Both shapes of the server's answer, and its refusals, over the real wire.
func TestBotTakesBothShapesOfTheSendAnswer(t *testing.T) {
	for _, shape := range []string{"object", "array"} {
		t.Run(shape, func(t *testing.T) {
			b := stack.StartBotd(t, stack.Options{Signal: []string{"-quirks", "send_answer=" + shape}})
			b.Signal.Say(t, 0, ask("!pomoc")...)
			collect(t, b.Signal, 1)
			stack.Eventually(t, "the reply is counted as sent", func() error {
				if metrics := stack.Get(t, b.Admin+"/metrics"); !strings.Contains(metrics, `operation="pomoc",outcome="ok"`) {
					return fmt.Errorf("not yet")
				}
				return nil
			})
		})
	}
}

// The names that every service shares, as a scrape sees them.
func TestMetricsCarryTheSharedNames(t *testing.T) {
	b := stack.StartBotd(t, stack.Options{})
	b.Signal.Say(t, 5*time.Millisecond, ask("!pomoc", "!kot")...)
	collect(t, b.Signal, 2)
	names := []string{
		`quartet_request_duration_seconds_count{`, `quartet_request_own_duration_seconds_bucket{`, `le="0.1"`,
		`quartet_request_upstream_duration_seconds_count{`,
		`phase="queue"`, `phase="dispatch"`, `phase="compute"`, `phase="upstream"`, `phase="send"`,
		`quartet_upstream_call_duration_seconds_count{`, `service_peer_name="thecatapi"`, `service_peer_name="pictures"`, `service_peer_name="signal"`,
		`quartet_budget_limit`, `quartet_budget_usage`, `quartet_budget_waiting`, `budget_name="botd.slots"`,
		`quartet_lock_entries`, `quartet_pool_connections`, `quartet_cache_requests_total`,
		`quartet_botd_frames_total`, `quartet_botd_dropped_total`, `quartet_botd_send_refusals_total`, `quartet_botd_send_unknown_total`,
		`service_name="botd"`,
	}
	stack.Eventually(t, "all names are there", func() error {
		metrics := stack.Get(t, b.Admin+"/metrics")
		for _, name := range names {
			if !strings.Contains(metrics, name) {
				return fmt.Errorf("no %s in\n%s", name, metrics)
			}
		}
		return nil
	})
}

// What was taken is answered before a stop, and the exit code says so.
func TestTermServesWhatWasTaken(t *testing.T) {
	b := stack.StartBotd(t, stack.Options{})
	b.Signal.Put(t, "latency", map[string]any{"send_text": "300ms"})
	b.Signal.Say(t, 5*time.Millisecond, ask("!pomoc", "!pomoc", "!pomoc", "!pomoc")...)
	stack.Eventually(t, "all have been read", func() error {
		if !strings.Contains(stack.Get(t, b.Admin+"/metrics"), `quartet_botd_frames_total{kind="text",service_name="botd"} 4`) {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	if err := b.Stop(); err != nil {
		t.Errorf("botd ended with %v", err)
	}
	if sends, _ := b.Signal.Sends(t, 0, 0); len(sends) != 4 {
		t.Errorf("%d of 4 answers went out", len(sends))
	}
}

func TestWrongConfigurationRefusesToStart(t *testing.T) {
	p := stack.Start(t, "botd", []string{"BOTD_LIMITS=9", "BOTD_SIGNAL_URL=nowhere"})
	err := p.Wait()
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.ExitCode() != 2 {
		t.Errorf("ended with %v, want exit code 2", err)
	}
	for _, name := range []string{"BOTD_NUMBER", "BOTD_LIMITS"} {
		if !strings.Contains(p.Log(), name) {
			t.Errorf("%s is not named in:\n%s", name, p.Log())
		}
	}
}

// A server that is not there yet is waited for, and one that went is missed
// until it is back.
func TestReadyFollowsTheServer(t *testing.T) {
	signal, admin := stack.FreeAddr(t), stack.FreeAddr(t)
	b := stack.Start(t, "botd", []string{"BOTD_SIGNAL_URL=http://" + signal, "BOTD_NUMBER=" + stack.Number, "BOTD_ADMIN_ADDR=" + admin, "BOTD_GROUPS=*"})
	b.WaitHTTP(t, "http://"+admin+"/livez", http.StatusOK)
	b.WaitHTTP(t, "http://"+admin+"/readyz", http.StatusServiceUnavailable)
	sim := stack.Start(t, "simsignal", nil, "-listen", signal)
	b.WaitHTTP(t, "http://"+admin+"/readyz", http.StatusOK)
	sim.Kill()
	b.WaitHTTP(t, "http://"+admin+"/readyz", http.StatusServiceUnavailable)
	stack.Start(t, "simsignal", nil, "-listen", signal)
	b.WaitHTTP(t, "http://"+admin+"/readyz", http.StatusOK)
	s := stack.Sim{URL: "http://" + signal}
	s.Say(t, 0, ask("!pomoc")...)
	collect(t, s, 1)
	if metrics := stack.Get(t, "http://"+admin+"/metrics"); !regexp.MustCompile(`quartet_botd_receive_gap_seconds_total{[^}]*} [0-9.e-]*[1-9]`).MatchString(metrics) {
		t.Errorf("the gap was not counted in\n%s", metrics)
	}
}

// A server that says it is well, and cannot be worked with, makes the bot not
// ready. It says what to mend, and goes on by itself once that is done.
func TestNotReadySaysWhatToMend(t *testing.T) {
	b := stack.StartBotd(t, stack.Options{})
	for _, tt := range []struct {
		quirk        string
		broken, well any
		says         string
	}{
		{"about_mode", "normal", "json-rpc", "MODE=json-rpc"},
		{"account_missing", true, false, "BOTD_NUMBER"},
	} {
		t.Run(tt.quirk, func(t *testing.T) {
			b.Signal.Put(t, "quirks", map[string]any{tt.quirk: tt.broken})
			b.Signal.Disconnect(t)
			stack.Eventually(t, "readyz says what to mend", func() error {
				if says := stack.Get(t, b.Admin+"/readyz"); !strings.Contains(says, tt.says) {
					return errors.New(says)
				}
				return nil
			})
			b.WaitHTTP(t, b.Signal.URL+"/v1/health", http.StatusNoContent)
			b.Signal.Put(t, "quirks", map[string]any{tt.quirk: tt.well})
			b.WaitHTTP(t, b.Admin+"/readyz", http.StatusOK)
		})
	}
}

// Whoever hides the number is answered all the same.
func TestHiddenNumberIsAnsweredByUUID(t *testing.T) {
	b := stack.StartBotd(t, stack.Options{Signal: []string{"-quirks", "number_null"}})
	b.Signal.Say(t, 0, stack.Frame{Text: "!ja", Sender: person(1), Name: "Ala"})
	if sent := collect(t, b.Signal, 1)[0]; !slices.Equal(sent.Recipients, []string{person(1)}) {
		t.Errorf("answered to %v", sent.Recipients)
	}
}

// Neither calls nor the websocket go through a proxy that happens to be in the
// environment: it would read all that is said.
func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	_, port, err := net.SplitHostPort(stack.FreeAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	admin := stack.FreeAddr(t)
	stack.Start(t, "simsignal", nil, "-listen", "127.0.0.1:"+port)
	b := stack.Start(t, "botd", []string{
		"HTTP_PROXY=http://127.0.0.1:1",
		"BOTD_SIGNAL_URL=http://0.0.0.0:" + port, // this machine, under a name for which Go uses proxies
		"BOTD_NUMBER=" + stack.Number, "BOTD_ADMIN_ADDR=" + admin,
	})
	b.WaitHTTP(t, "http://"+admin+"/readyz", http.StatusOK)
}

// report is what botd latency --json prints.
type report struct {
	Times  int `json:"times"`
	Failed int `json:"failed"`
	Fields []struct {
		Field string  `json:"field"`
		P50   float64 `json:"p50"`
	} `json:"fields"`
}

func (r report) p50(field string) float64 {
	for _, f := range r.Fields {
		if f.Field == field {
			return f.P50
		}
	}
	return -1
}

// latency is what botd latency says of three replies.
func latency(t *testing.T, b *stack.Botd, flag string) report {
	t.Helper()
	out, err := exec.Command(stack.Program(t, "botd"), "latency", b.Admin, flag, "--times", "3", "--json").Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", flag, err, out)
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	if r.Times != 3 || r.Failed != 0 {
		t.Errorf("%s: %s", flag, out)
	}
	return r
}

// The whole way of a measurement: injected latencies come out in the phases
// they belong to, and the cooldown neither stops nor outlives it.
func TestLatencyTellsWhoseTimeItWas(t *testing.T) {
	b := stack.StartBotd(t, stack.Options{Env: []string{"BOTD_COOLDOWN=1h", "BOTD_CAT_POOL=0", "BOTD_STATE_DIR=" + t.TempDir()}})
	b.Signal.Put(t, "latency", map[string]any{"send_text": "60ms", "send_attachment": "90ms"})
	b.Web.Put(t, "latency", map[string]any{"search": "40ms", "picture": "50ms"})
	for _, tt := range []struct {
		flag           string
		upstream, send float64
	}{{"--text=!pomoc", 0, 60}, {"--picture", 90, 90}} {
		r := latency(t, b, tt.flag)
		// What was injected is a floor; what the machine adds is not judged here.
		if got := r.p50("upstream_ms"); got < tt.upstream || (tt.upstream == 0 && got != 0) {
			t.Errorf("%s: upstream_ms %v, injected %v", tt.flag, got, tt.upstream)
		}
		if got := r.p50("send_ms"); got < tt.send {
			t.Errorf("%s: send_ms %v, injected %v", tt.flag, got, tt.send)
		}
		if r.p50("store_ms") <= 0 {
			t.Errorf("%s: the ledger took no time", tt.flag)
		}
		if own, total := r.p50("own_ms"), r.p50("total_ms"); own <= 0 || own > total-tt.send {
			t.Errorf("%s: own_ms %v of %v contains what was injected", tt.flag, own, total)
		}
	}
}

// Whatever the server does, the next question is answered. Each quirk is one
// that the real server was seen to have.
func TestServerFaultsEndOneReplyAtMost(t *testing.T) {
	b := stack.StartBotd(t, stack.Options{Env: []string{"BOTD_SEND_TIMEOUT=500ms", "BOTD_LIMIT=2", "BOTD_LOG_LEVEL=DEBUG", "BOTD_RATE_PAUSE=100ms"}})
	asker := 100
	for _, quirk := range []string{
		"send_hang", "send_hang_lost", "send_cut", "send_429", "send_429_delivered", "send_429_upload", "partial_failure",
		"send_fail_bug", "send_fail_account", "send_fail_identity", "send_fail_permanent", "send_fail_rate_limit",
		"send_fail_too_large", "send_fail_transient", "send_fail_prekeys", "send_fail_profile",
		"exception_only", "error_frames", "duplicate_frames",
	} {
		t.Run(quirk, func(t *testing.T) {
			b.Signal.Put(t, "quirks", map[string]any{quirk: 1})
			command := "!pomoc"
			if quirk == "send_429_upload" {
				command = "!kot"
			}
			_, after := b.Signal.Sends(t, 0, 0)
			asker++
			b.Signal.Say(t, 0, stack.Frame{Text: command, Sender: person(asker)})
			// Whichever of the two meets the fault, the one after it does not.
			stack.Eventually(t, "the next question is answered", func() error {
				asker++
				b.Signal.Say(t, 0, stack.Frame{Text: "!ja", Sender: person(asker), Name: quirk}) // from another chat: one that refuses us is parked
				sends, next := b.Signal.Sends(t, after, time.Second)
				after = next
				if !slices.ContainsFunc(sends, func(s stack.Sent) bool { return strings.HasPrefix(s.Message, quirk+":") }) {
					return fmt.Errorf("%d other messages came", len(sends))
				}
				return nil
			})
		})
	}
	// All is over but for what hangs, which its time-out ends: nothing is stuck.
	stack.Eventually(t, "every slot is free again", func() error {
		if metrics := stack.Get(t, b.Admin+"/metrics"); !strings.Contains(metrics, `quartet_budget_usage{budget_name="botd.slots",service_name="botd"} 0`) {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	checkReplies(t, b.Signal)
	checkLog(t, b.Log())
}

// checkReplies checks that nobody was answered twice, whatever the server said
// of the first answer.
func checkReplies(t *testing.T, s stack.Sim) {
	t.Helper()
	replies := map[string]int{}
	all, _ := s.Sends(t, 0, 0)
	for _, sent := range all {
		if who := sent.Recipients[0]; strings.Contains(sent.Message, "ta lista") || len(sent.Attachments) > 0 {
			replies[who]++
		}
	}
	for who, n := range replies {
		if n > 1 {
			t.Errorf("%s was answered %d times", who, n)
		}
	}
}

// checkLog checks that the log of all these faults says what happened, and
// nothing of people: their words, their numbers, or ours.
func checkLog(t *testing.T, log string) {
	t.Helper()
	for _, words := range []string{"untrusted", "not registered", "No prekeys", "account does not exist", "rate limiting", "update your profile", `"outcome_unknown":true`} {
		if !strings.Contains(log, words) {
			t.Errorf("the log does not tell of %q", words)
		}
	}
	for _, secret := range []string{"!pomoc", "!kot", "!ja", "+1555", "%2B1555", person(102)} {
		if at := strings.Index(log, secret); at >= 0 {
			t.Errorf("%q is in the log: %s", secret, log[max(0, at-200):min(len(log), at+100)])
		}
	}
}
