package said

// key names a sentence in the catalogues.
type key int

const (
	helpGroup key = iota
	helpDirect
	helpAdmins
	helpLine
	helpLineAliases

	aboutHelp
	aboutCat
	aboutPicture
	aboutMe
	aboutForget
	aboutStatus
	aboutAllow
	aboutLeave
	aboutIgnore
	aboutHear
	aboutSwitchOn
	aboutSwitchOff
	aboutCooldown

	wait
	failed
	didYouMean
	tooManyWaiting
	notAllowed
	onlyInGroups
	onlyDirect
	offHere
	unknownGroup
	groupUnnamed

	me
	meNothing
	someone
	forgotten
	optedOut
	optedIn

	groupAllowed
	groupLeft
	personIgnored
	personHeard
	switchedOn
	switchedOff
	cooldownSet
	cooldownNone
	noCommand

	missing
	notNumber
	outOfRange
	tooMany
	usage

	paramCommand
	paramGroup
	paramPerson
	paramSeconds
	paramNumber
	paramWord
	paramWords

	credit
	creditNoAuthor
	creditNoLicence
	noPicture

	statusUp
	statusReady
	statusNotReady
	statusAnswers
	statusTimes
	statusOwn
	statusUpstream
	statusSend

	in
	soon
	and
	days
	hours
	minutes
	seconds
	inDays
	inHours
	inMinutes
	inSeconds

	keys // how many there are
)
