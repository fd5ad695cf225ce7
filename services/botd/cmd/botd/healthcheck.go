package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"quartet/kit/telemetry"
)

// defaultAdminAddr is that of BOTD_ADMIN_ADDR; a test holds it to the
// configuration, which is not read here: what it says of other things must not
// make a running bot look sick.
const defaultAdminAddr = "127.0.0.1:9101"

// healthcheck asks a running bot whether it is ready, for Docker and for people.
func healthcheck(ctx context.Context, args, environ []string, stdout io.Writer) error {
	addr := ""
	for _, each := range environ {
		if value, is := strings.CutPrefix(each, "BOTD_ADMIN_ADDR="); is {
			addr = value // the last one holds
		}
	}
	switch {
	case len(args) > 1 || len(args) == 1 && strings.HasPrefix(args[0], "-"):
		return fmt.Errorf("%w: botd healthcheck takes an address, as 127.0.0.1:9101, and nothing else, see botd help", errUsage)
	case len(args) == 1:
		addr = args[0]
	}
	if err := telemetry.Healthcheck(ctx, cmp.Or(addr, defaultAdminAddr)); err != nil {
		return err
	}
	_, err := fmt.Fprintln(stdout, "ready")
	return err
}
