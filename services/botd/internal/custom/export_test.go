package custom

var (
	Address      = address
	WithoutWords = withoutWords
	Parts        = parts
)
