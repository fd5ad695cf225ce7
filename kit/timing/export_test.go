package timing

// Bounds of names, for the tests that cross them.
const (
	MaxOperations     = maxOperations
	MaxPeers          = maxPeers
	MaxPeerOperations = maxPeerOperations
)
