package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quartet/e2e/internal/stack"
)

// The container posts a frame and hears no answer to a send before that post
// is answered: a bot that held a post until its answer is out would stand still
// for ever. At full speed nothing is lost, and everybody is answered in order.
func TestWebhookTakesABurstWholeAndAnswersIt(t *testing.T) {
	const n = 2_000
	const token = "fuj7wqk2npl9xz4m"
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hook := stack.FreeAddr(t)
	b := stack.StartBotd(t, stack.Options{
		Env:    []string{"BOTD_WEBHOOK_ADDR=" + hook, "BOTD_WEBHOOK_TOKEN_FILE=" + secret, "BOTD_COOLDOWN=0", "BOTD_SENDER_WAITING=100"},
		Signal: []string{"-webhook", "http://" + hook + "/webhook/" + token},
	})
	b.Signal.Put(t, "latency", map[string]any{"send_text": "1ms"})
	answered(t, b, n, 0)
	stats := b.Signal.Stats(t)
	if dropped, _ := stats["frames_dropped"].(map[string]any); stats["frames_posted"] != float64(n) || len(dropped) != 0 {
		t.Errorf("the simulator says %v", stats)
	}
	if n := b.Metrics(t).Sum("quartet_botd_dropped_total"); n != 0 {
		t.Errorf("%v were dropped", n)
	}
}

// A post with a wrong token is refused, and the container does not try again.
func TestWebhookWithAWrongTokenBringsNothing(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("fuj7wqk2npl9xz4m"), 0o600); err != nil {
		t.Fatal(err)
	}
	hook := stack.FreeAddr(t)
	b := stack.StartBotd(t, stack.Options{
		Env:    []string{"BOTD_WEBHOOK_ADDR=" + hook, "BOTD_WEBHOOK_TOKEN_FILE=" + secret},
		Signal: []string{"-webhook", "http://" + hook + "/webhook/another-word-123456"},
	})
	b.Signal.Say(t, 0, ask("!pomoc")...)
	stack.Eventually(t, "the frame is lost", func() error {
		stats := b.Signal.Stats(t)
		if dropped, _ := stats["frames_dropped"].(map[string]any); dropped["webhook"] != 1.0 {
			return fmt.Errorf("the simulator says %v", stats)
		}
		return nil
	})
	if sends, _ := b.Signal.Sends(t, 0, 0); len(sends) != 0 {
		t.Errorf("answered %+v", sends)
	}
}

// signal-cli's own socket, with pictures handed over as files.
func TestBotAnswersOverAUnixSocket(t *testing.T) {
	socket, spool := filepath.Join(t.TempDir(), "s"), t.TempDir()
	b := stack.StartBotd(t, stack.Options{
		Env:    []string{"BOTD_SIGNAL_URL=unix://" + socket, "BOTD_SPOOL_DIR=" + spool},
		Signal: []string{"-rpc", "unix://" + socket, "-receive-mode", "manual"},
	})
	b.Signal.Say(t, 0, ask("!pomoc")...)
	if help := collect(t, b.Signal, 1)[0]; !strings.Contains(help.Message, "!pomoc") {
		t.Errorf("answered %+v", help)
	}
	// The file lies there until the send is answered, and this one never is.
	b.Signal.Put(t, "quirks", map[string]any{"send_hang": 1})
	b.Signal.Say(t, 0, ask("!kot")...)
	picture := collect(t, b.Signal, 2)[1]
	if len(picture.Attachments) != 1 || !strings.HasPrefix(picture.Attachments[0].ContentType, "image/") {
		t.Fatalf("answered %+v", picture)
	}
	files, err := filepath.Glob(filepath.Join(spool, "*", "kot*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files are %q, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Size() != picture.Attachments[0].Bytes {
		t.Errorf("%v, %v; %d bytes were sent", info, err, picture.Attachments[0].Bytes)
	}
}
