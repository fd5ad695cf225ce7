package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"quartet/e2e/internal/stack"
)

// A person opens the chat page, types !kot and !pomoc, and sees a picture and
// a text come back.
func TestChatPageShowsTheCat(t *testing.T) {
	browser := stack.Need(t, "chromium", "chromium-browser", "google-chrome")
	b := stack.StartBotd(t, stack.Options{})
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser),
		chromedp.NoSandbox, // as root, and in containers, Chromium's own sandbox cannot be had
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-quic", true),
		chromedp.WindowSize(900, 1000),
	)...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 2*stack.Patience)
	defer cancel()

	const cat = `#log [data-from="bot"] img`
	if err := chromedp.Do(ctx,
		chromedp.Navigate(b.Signal.URL+"/"),
		chromedp.WaitVisible("#message"),
		chromedp.SendKeys("#message", "!kot"),
		chromedp.Click("#send"),
		chromedp.WaitVisible(cat),
		chromedp.SendKeys("#message", "!pomoc"),
		chromedp.Click("#send"),
	); err != nil {
		t.Fatal(err)
	}
	width := poll[int64](ctx, t, `document.querySelector('`+cat+`').naturalWidth`)
	help := poll[string](ctx, t, `[...document.querySelectorAll('#log [data-from="bot"]')].map(e => e.innerText).find(s => s.includes('!pomoc'))`)
	screen, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if width < 50 {
		t.Errorf("the picture is %d pixels wide", width)
	}
	if !strings.Contains(help, "!kot") {
		t.Errorf("the help says %q", help)
	}
	path := filepath.Join(t.ArtifactDir(), "chat.png")
	if err := os.WriteFile(path, screen, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("screenshot: %s", path)
}

// poll waits until expression is true in the page, and returns its value.
func poll[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Poll[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}
