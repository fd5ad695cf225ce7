package said

// key names a sentence in the catalogues.
type key int

const (
	helpGroup key = iota
	helpDirect
	helpAdmins
	helpLine
	helpAliases

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
	aboutDebug

	wait
	failed
	didYouMean
	tooManyWaiting
	tooManyPictures
	notAllowed
	onlyInGroups
	onlyDirect
	notHere
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
	cooldownUnset
	fixed
	noCommand
	noUUID
	adminsHeard
	tooManyKept
	debugOn
	debugOff
	debugFull

	missing
	notNumber
	notPerson
	outOfRange
	tooMany
	unfit
	usage

	paramCommand
	paramGroup
	paramPerson
	paramSeconds
	paramNumber
	paramWord
	paramWords
	paramLasting
	paramSwitch

	credit
	creditNoAuthor
	creditNoLicence
	noPicture

	statusUp
	statusReady
	statusNotReady
	statusAnswers
	statusWaiting
	statusTimes
	statusOwn
	statusUpstream
	statusSend
	statusSlowest

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
