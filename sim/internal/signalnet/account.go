package signalnet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Profile is how the bot's account shows itself.
type Profile struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Avatar int    `json:"avatar_bytes"`
}

// Identity is somebody's key as signal-cli knows it.
type Identity struct {
	Who       string `json:"who"` // a uuid or a number, or * for everybody
	Untrusted bool   `json:"untrusted"`
}

const maxIdentities = 10_000

// account is what is known about the bot's account and the people it writes to.
type account struct {
	mu        sync.Mutex
	profile   Profile         // guarded by mu
	untrusted map[string]bool // guarded by mu; false = trusted since, * = whoever is not there
}

func (a *account) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.profile, a.untrusted = Profile{}, map[string]bool{}
}

// Profile returns the account's profile.
func (n *Network) Profile() Profile {
	n.account.mu.Lock()
	defer n.account.mu.Unlock()
	return n.account.profile
}

// SetProfile sets the account's profile.
func (n *Network) SetProfile(ctx context.Context, at time.Time, via, number string, p Profile) *Failure {
	return n.manage(ctx, number, Call{Kind: "profile", Via: via, Begin: at, Detail: p.Name}, func() *Failure {
		n.account.mu.Lock()
		defer n.account.mu.Unlock()
		n.account.profile = p
		return nil
	})
}

// Quit makes the bot leave a group.
func (n *Network) Quit(ctx context.Context, at time.Time, via, number, group string) *Failure {
	return n.manage(ctx, number, Call{Kind: "quit_group", Via: via, Begin: at, Group: group}, func() *Failure {
		return n.roster.leave(group)
	})
}

// Distrust makes the keys of people untrusted; * stands for everybody.
func (n *Network) Distrust(people []string) error {
	a := &n.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.untrusted)+len(people) > maxIdentities {
		return fmt.Errorf("want at most %d identities", maxIdentities)
	}
	for _, who := range people {
		a.untrusted[who] = true
	}
	return nil
}

// Identities returns whose keys were ever untrusted.
func (n *Network) Identities() []Identity {
	a := &n.account
	a.mu.Lock()
	defer a.mu.Unlock()
	list := []Identity{}
	for who, untrusted := range a.untrusted {
		list = append(list, Identity{who, untrusted})
	}
	slices.SortFunc(list, func(a, b Identity) int { return strings.Compare(a.Who, b.Who) })
	return list
}

// SafetyNumber returns the number by which a person's key is compared, 60 digits.
func SafetyNumber(who string) string { return strings.Repeat(numberOf(who)[1:], 6)[:60] }

// Trust trusts the key of a person: whatever it is, or if it has the safety number.
func (n *Network) Trust(ctx context.Context, at time.Time, via, number, who, safety string) *Failure {
	c := Call{Kind: "trust", Via: via, Begin: at, Recipient: who}
	return n.manage(ctx, number, c, func() *Failure {
		if safety != "" && strings.ReplaceAll(safety, " ", "") != SafetyNumber(who) {
			return &Failure{Class: "bug", Code: CodeUser, Text: "Invalid safety number: it does not belong to " + who}
		}
		n.account.trust(who)
		return nil
	})
}

func (a *account) trust(who string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.untrusted[who] = false
	for known := range a.untrusted {
		if same(known, who) {
			a.untrusted[known] = false
		}
	}
}

// distrusts says whether the key of a person is not trusted.
func (a *account) distrusts(who string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.untrusted) == 0 {
		return false
	}
	if untrusted, known := a.untrusted[who]; known {
		return untrusted
	}
	for known, untrusted := range a.untrusted {
		if same(known, who) {
			return untrusted
		}
	}
	return a.untrusted["*"]
}

// same says whether a uuid and a number are the same person's.
func same(a, b string) bool {
	switch {
	case strings.HasPrefix(a, "+") == strings.HasPrefix(b, "+"):
		return a == b
	case strings.HasPrefix(a, "+"):
		return a == numberOf(b)
	default:
		return b == numberOf(a)
	}
}

// Challenge submits the solution of a captcha, which lifts a rate limit.
func (n *Network) Challenge(ctx context.Context, at time.Time, via, number, token, captcha string) *Failure {
	return n.manage(ctx, number, Call{Kind: "challenge", Via: via, Begin: at, Detail: token}, func() *Failure {
		if token == "" || token != n.Quirks.Text("challenge_token") || !strings.HasPrefix(captcha, "signalcaptcha://") {
			return &Failure{Class: "captcha", Code: CodeCaptcha, Text: "Captcha rejected, it may be expired, used already or invalid"}
		}
		n.switchOff("rate_limited")
		return nil
	})
}

// switchOff turns a switch off, as the command for it would.
func (n *Network) switchOff(name string) {
	_ = n.Quirks.Merge(map[string]json.RawMessage{name: json.RawMessage("false")}) // it is a switch that may change
}
