module quartet/e2e

go 1.26.0

require (
	github.com/chromedp/chromedp v0.23.1
	github.com/godbus/dbus/v5 v5.2.4
)

require (
	github.com/chromedp/cdproto v0.160.1 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	golang.org/x/sys v0.27.0 // indirect
)
