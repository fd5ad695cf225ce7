package transport

import (
	"fmt"
	"strconv"
	"strings"
)

// flaw is a fault that versions of a server below a certain one have.
type flaw struct {
	name    string
	mended  string
	trouble string
}

var cliFlaws = []flaw{
	{"signal_cli_slow_groups", "0.14.3", "every message to a group takes seconds"},
	{"signal_cli_slow_unregistered", "0.14.6", "members that are no longer registered make messages to their group slow"},
}

var restFlaws = []flaw{
	{"rest_api_mixes_accounts", "0.95", "frames of several accounts are mixed up or missing"},
}

// CLIWarnings are about a version of signal-cli.
func CLIWarnings(version string) []Warning { return warnings("signal-cli", version, cliFlaws) }

// RESTWarnings are about a version of signal-cli-rest-api. Development builds
// call theirs "unset", and nothing is known about those.
func RESTWarnings(version string) []Warning {
	return warnings("signal-cli-rest-api", version, restFlaws)
}

func warnings(server, version string, flaws []flaw) []Warning {
	var all []Warning
	for _, f := range flaws {
		if older(version, f.mended) {
			all = append(all, Warning{f.name, fmt.Sprintf("%s %s: %s; update it to %s or later", server, version, f.trouble, f.mended)})
		}
	}
	return all
}

// older reports whether version a comes before b. Of a version that cannot be
// read nothing is claimed.
func older(a, b string) bool {
	as, ok := numbers(a)
	if !ok {
		return false
	}
	bs, _ := numbers(b)
	for i := range bs {
		if as[i] != bs[i] {
			return as[i] < bs[i]
		}
	}
	return false
}

// numbers reads up to three numbers between dots; what follows a - or + is not
// looked at.
func numbers(version string) (n [3]int, ok bool) {
	version = strings.TrimPrefix(version, "v")
	if i := strings.IndexAny(version, "-+"); i >= 0 {
		version = version[:i]
	}
	for i, part := range strings.SplitN(version, ".", len(n)+1) {
		if i == len(n) {
			break
		}
		var err error
		if n[i], err = strconv.Atoi(part); err != nil {
			return n, false
		}
	}
	return n, true
}
