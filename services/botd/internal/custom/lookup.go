package custom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

var errNoJSON = errors.New("the answer is no JSON")

// readJSON reads one value, its numbers as they are written.
func readJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, errNoJSON // the error may have words of the answer
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoJSON
	}
	return v, nil
}

// lookup returns what stands at a place in JSON: a text, a number, true or false.
func lookup(v any, path []string) (string, error) {
	for _, name := range path {
		switch inside := v.(type) {
		case map[string]any:
			v = inside[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(inside) {
				return "", fmt.Errorf("the answer has nothing at %s", strings.Join(path, "."))
			}
			v = inside[i]
		default:
			v = nil
		}
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	return "", fmt.Errorf("the answer has no text and no number at %s", strings.Join(path, "."))
}
