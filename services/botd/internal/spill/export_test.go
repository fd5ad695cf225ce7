package spill

// Encode and Decode are how a message stands on disk.
var (
	Encode = encode
	Decode = decode
)
