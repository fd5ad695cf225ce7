package summary

import (
	"testing"
	"time"
)

func TestNumbersShowTheDigitsThatMatter(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                        "0.00",
		630 * time.Microsecond:   "0.63",
		9400 * time.Microsecond:  "9.4",
		99 * time.Millisecond:    "99",
		2655 * time.Millisecond:  "2,655",
		1234567 * time.Second:    "1,234,567,000",
		999600 * time.Nanosecond: "1.00",
	} {
		if got := millis(d); got != want {
			t.Errorf("millis(%v) = %q, want %q", d, got, want)
		}
	}
	for share, want := range map[float64]string{
		0.00017: "0.017 %", 0.0042: "0.42 %", 0.051: "5.1 %", 0.5: "50 %", 0: "0.000 %",
	} {
		if got := percent(share); got != want {
			t.Errorf("percent(%v) = %q, want %q", share, got, want)
		}
	}
}
