package daemon

import (
	"context"
	"log/slog"

	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/keyring"
)

// cookies makes cookies of the keyring in dir, where the configuration offers
// them.
func (d *daemon) cookies(dir string) func(done func(bus.Cookie)) {
	ring := &keyring.Keyring{Dir: dir}
	return func(done func(bus.Cookie)) {
		go func() {
			c, err := ring.Cookie(context.Background())
			if err != nil {
				d.log.Warn("DBUS_COOKIE_SHA1 refused", slog.Any("err", err))
			}
			done(c)
		}()
	}
}
