package bus

import (
	"quartet/services/busd/internal/busconf"
	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/sasl"
)

// Settings are what the configuration says and a reload changes.
type Settings struct {
	Limits         busconf.Limits
	Policy         *policy.Set
	Mechanisms     sasl.Mechanisms
	AllowAnonymous bool

	// AtConsole says whether a user sits at this machine now; nil is nobody. The
	// bus thread asks it of everybody who connects.
	AtConsole func(uid uint32) bool

	// Helper says that the setuid helper starts programs. It has more rights
	// than who asks, who must not tell it what to find where.
	Helper bool

	// SELinux says that labels of peers are SELinux contexts.
	SELinux bool
}

// Apply replaces the settings. Everybody who is connected is judged by the new
// policy from now on; nobody is disconnected, and limits hold for what comes.
func (b *Bus) Apply(s Settings) {
	b.settings = s
	clear(b.users.policies)
	for _, p := range b.peers.byFD {
		if p != nil && p.policy != nil && p.state != gone {
			p.policy = b.policyFor(p, b.policyGroups(p))
		}
	}
	b.countIncomplete()
}
