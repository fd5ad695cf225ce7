package config_test

import (
	"strings"
	"testing"
	"time"

	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/config"
)

func TestDefaults(t *testing.T) {
	c, err := config.Parse([]string{"PATH=/bin"})
	if err != nil {
		t.Fatal(err)
	}
	if c.BatchMessages != 16 || c.BatchBytes != 16<<10 || time.Duration(c.SendTimeout) != 30*time.Second || c.AdminAddr != "" || len(c.Quotas()) != 0 {
		t.Errorf("%+v", c)
	}
	// The limits of Debian's session.conf must be what is met first.
	if q := c.Quota(); q.Bytes < 1e9 {
		t.Errorf("quota %+v", q)
	}
}

func TestEveryFaultIsNamedAtOnce(t *testing.T) {
	_, err := config.Parse([]string{
		"BUSD_BATCH_MESSAGES=0", "BUSD_BATCH_BYTES=1", "BUSD_SEND_TIMEOUT=-1", "BUSD_USER_BYTES=1", "BUSD_USER_FDS=1", "BUSD_ADMIN_ADDR=9101",
		"BUSD_TRACE_RATIO=2", "BUSD_LOG_LEVEL=LOUD", "BUSD_BATCH=1", "BUSD_USER_QUOTAS=0:1GiB",
	})
	if err == nil {
		t.Fatal("taken")
	}
	for _, name := range []string{"BATCH_MESSAGES", "BATCH_BYTES", "SEND_TIMEOUT", "USER_BYTES", "USER_FDS", "ADMIN_ADDR", "TRACE_RATIO", "LOG_LEVEL", "BATCH:", "USER_QUOTAS"} {
		if !strings.Contains(err.Error(), "BUSD_"+name) {
			t.Errorf("BUSD_%s is not named in:\n%v", name, err)
		}
	}
}

// Who wants no bound at all writes a number that nothing can count to.
func TestMoreBytesThanThereAreIsRefused(t *testing.T) {
	for value, ok := range map[string]bool{"1024TiB": true, "1025TiB": false, "9223372036854775807": false} {
		if _, err := config.Parse([]string{"BUSD_USER_BYTES=" + value}); ok != (err == nil) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// bus1/dbus-broker#430: single users may have other quotas.
func TestQuotasOfSingleUsers(t *testing.T) {
	c, err := config.Parse([]string{"BUSD_USER_QUOTAS=0:8GiB:32768, 1000:64MiB:256"})
	if err != nil {
		t.Fatal(err)
	}
	if q := c.Quotas(); len(q) != 2 || q[0] != (bus.Quota{Bytes: 8 << 30, FDs: 32768}) || q[1000] != (bus.Quota{Bytes: 64 << 20, FDs: 256}) {
		t.Errorf("%+v", q)
	}
	for _, wrong := range []string{"0", "0:1GiB", "root:1GiB:1", "-1:1GiB:20", "0:1GiB:x", "0:1:20", "0:1G:20", "0:1GiB:20:4", "0:1GiB:20,0:2GiB:20", "0:1GiB:-1", "4294967296:1GiB:20", "0:1025TiB:20"} {
		if _, err := config.Parse([]string{"BUSD_USER_QUOTAS=" + wrong}); err == nil || !strings.Contains(err.Error(), "BUSD_USER_QUOTAS") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("BATCH_BYTES", "16KiB")
	f.Add("USER_QUOTAS", "0:8GiB:32768,1000:64MiB:256")
	f.Add("TRACE_RATIO", "NaN")
	f.Add("SEND_TIMEOUT", "1e9")
	f.Fuzz(func(t *testing.T, name, value string) {
		c, err := config.Parse([]string{config.Prefix + name + "=" + value})
		if err != nil {
			return
		}
		if c.BatchMessages < 1 || c.BatchBytes < 1 || c.SendTimeout < 0 || c.UserBytes < 1 || c.UserFDs < 1 || !(c.TraceRatio >= 0) {
			t.Errorf("%s=%q was taken as %+v", name, value, c)
		}
		for uid, q := range c.Quotas() {
			if q.Bytes < 1 || q.FDs < 0 {
				t.Errorf("%s=%q gives %d %+v", name, value, uid, q)
			}
		}
	})
}
