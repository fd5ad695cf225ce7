package wire

// What a byte of a signature is; 0 is no type code at all.
const (
	kindFixed  = 1 << iota // fixed size: elements of an array follow without gaps
	kindText               // s, o and g
	kindV                  // v
	kindOpens              // a ( {
	kindCloses             // ) }

	kindBasic = kindFixed | kindText
)

var kinds = [256]uint8{
	'y': kindFixed, 'b': kindFixed, 'n': kindFixed, 'q': kindFixed, 'i': kindFixed, 'u': kindFixed,
	'x': kindFixed, 't': kindFixed, 'd': kindFixed, 'h': kindFixed,
	's': kindText, 'o': kindText, 'g': kindText,
	'v': kindV,
	'a': kindOpens, '(': kindOpens, '{': kindOpens,
	')': kindCloses, '}': kindCloses,
}

// aligns is the alignment in bytes of the values of a type code.
var aligns = [256]uint8{
	'y': 1, 'g': 1, 'v': 1,
	'n': 2, 'q': 2,
	'b': 4, 'i': 4, 'u': 4, 'h': 4, 's': 4, 'o': 4, 'a': 4,
	'x': 8, 't': 8, 'd': 8, '(': 8, '{': 8,
}

// typeEnds tells for each byte of a signature that opens a container where the
// complete type that begins there ends. It saves a walk over the signature for
// every empty array: without it a message of empty arrays of a long type costs
// their number times the length of the type. Other entries are left as they were.
type typeEnds [MaxSignature]uint8

// ValidSignature reports whether s is a sequence of complete types, none
// included, of at most MaxSignature bytes, with at most 32 arrays and 32
// structs nested. Specification, "Valid Signatures".
func ValidSignature(s string) bool {
	var ends typeEnds
	return checkSignature(s, &ends) == ""
}

// checkSignature returns what is wrong with s, or "", and fills ends.
func checkSignature(s string, ends *typeEnds) string {
	if len(s) > MaxSignature {
		return "signature longer than 255 bytes"
	}
	for i := 0; i < len(s); i++ {
		if kinds[s[i]]&(kindBasic|kindV) == 0 {
			return checkContainers(s, i, ends)
		}
	}
	return ""
}

// checkContainers is checkSignature from the first container on, at i.
func checkContainers(s string, i int, ends *typeEnds) string {
	// The containers that are open: at most the nesting limits of arrays and
	// structs, and as many dict entries as arrays, since they lie only there.
	var open [3 * maxNesting]uint8
	depth, arrays, structs := 0, 0, 0
	for ; i < len(s); i++ {
		switch s[i] {
		case 'a':
			if arrays++; arrays > maxNesting {
				return "signature with more than 32 nested arrays"
			}
			open[depth] = uint8(i)
			depth++
			continue
		case '(':
			if structs++; structs > maxNesting {
				return "signature with more than 32 nested structs"
			}
			open[depth] = uint8(i)
			depth++
			continue
		case '{':
			if depth == 0 || s[open[depth-1]] != 'a' {
				return "signature with a dict entry outside an array"
			}
			if i+1 >= len(s) || kinds[s[i+1]]&kindBasic == 0 {
				return "signature with a dict key that is not a basic type"
			}
			open[depth] = uint8(i)
			depth++
			i++ // the key
			continue
		case ')':
			if depth == 0 || s[open[depth-1]] != '(' {
				return "signature with a ) that closes no struct"
			}
			begin := open[depth-1]
			if int(begin) == i-1 {
				return "signature with an empty struct"
			}
			depth--
			structs--
			ends[begin] = uint8(i + 1)
		case '}':
			// The value before has ended the dict entry, see below.
			return "signature with a } that closes no dict entry of two types"
		default:
			if kinds[s[i]] == 0 {
				return "signature with an unknown type code"
			}
		}
		// A complete type ends here, and with it the arrays that hold it; it
		// may be the value of a dict entry, which ends then, and its array.
		for depth > 0 {
			begin := open[depth-1]
			if s[begin] == '(' {
				break
			}
			if s[begin] == '{' {
				if i++; i >= len(s) || s[i] != '}' {
					return "signature with a dict entry that is not of two types"
				}
			} else {
				arrays--
			}
			depth--
			ends[begin] = uint8(i + 1)
		}
	}
	if depth > 0 {
		return "signature that ends within a container"
	}
	return ""
}

// singleType reports whether the valid signature s is exactly one complete type.
func singleType(s string, ends *typeEnds) bool {
	if s == "" {
		return false
	}
	if kinds[s[0]] != kindOpens {
		return len(s) == 1
	}
	return int(ends[0]) == len(s)
}

// typeEnd returns where the complete type ends that begins at i of the valid
// signature s. It walks over it: for the readers, which do so once a value.
func typeEnd(s string, i int) int {
	for i < len(s) && s[i] == 'a' {
		i++
	}
	if i < len(s) && kinds[s[i]] == kindOpens {
		for depth := 0; i < len(s); i++ {
			switch kinds[s[i]] {
			case kindCloses:
				depth--
			case kindOpens:
				if s[i] != 'a' {
					depth++
				}
			}
			if depth == 0 {
				break
			}
		}
	}
	return min(i+1, len(s))
}
