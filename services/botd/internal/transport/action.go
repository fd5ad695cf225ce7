package transport

// Action is what follows from a refusal.
type Action struct {
	MayHaveArrived bool   // count it as unknown, and do not send it again
	RetryOnce      bool   // once Repair is done it may be sent one more time
	Repair         Repair // what has to be done before that
	Pause          bool   // send nothing for RetryAfter, or a while when that is 0
	ParkChat       bool   // leave this chat alone for a while, but for admins, or until it has changed
	Unready        bool   // nothing can be sent: stop taking commands
	Alert          bool   // a person has to look at it
}

// Repair is what makes another try worth it.
type Repair string

// The repairs.
const (
	RepairNone       Repair = ""
	RepairTrust      Repair = "trust"       // trust the new key, if the operator's policy allows it
	RepairDownscale  Repair = "downscale"   // send a smaller picture
	RepairSetProfile Repair = "set_profile" // give our profile a name
)

// actions is the table. Whatever MayHaveArrived is never retried: two answers
// are worse than none. A rate limit may hit after the message was delivered;
// a broken connection may have broken behind it; and words that nobody knows
// may mean anything.
//
//	class       may have   retry   before that,          then
//	            arrived    once
//	bug         no         no                            alert
//	account     no         no                            unready, alert
//	identity    no         yes     trust, if allowed
//	chat        no         no                            park the chat
//	rate_limit  yes        no                            pause
//	too_large   no         yes     a smaller picture
//	transient   yes        no
//	profile     no         yes     set the profile name
//	unknown     yes        no                            alert
var actions = map[Class]Action{
	ClassBug:       {Alert: true},
	ClassAccount:   {Unready: true, Alert: true},
	ClassIdentity:  {RetryOnce: true, Repair: RepairTrust},
	ClassChat:      {ParkChat: true},
	ClassRateLimit: {MayHaveArrived: true, Pause: true},
	ClassTooLarge:  {RetryOnce: true, Repair: RepairDownscale},
	ClassTransient: {MayHaveArrived: true},
	ClassProfile:   {RetryOnce: true, Repair: RepairSetProfile},
	ClassUnknown:   {MayHaveArrived: true, Alert: true},
}

// Action is what follows from a refusal of this class; a class that is not in
// the table is treated as ClassUnknown.
func (c Class) Action() Action {
	if a, ok := actions[c]; ok {
		return a
	}
	return actions[ClassUnknown]
}
