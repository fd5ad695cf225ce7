package custom

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"quartet/services/botd/internal/commandfile"
)

// maxSecret is how many bytes a file with a value may have.
const maxSecret = 64 << 10

// settings returns the values of settings by their names, those that stand in
// files among them. No error has a value in it.
func settings(all []commandfile.Setting) (map[string]string, error) {
	values := make(map[string]string, len(all))
	var errs []error
	for _, s := range all {
		value := s.Value
		if s.File != "" {
			var err error
			if value, err = secret(s.File); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
				continue
			}
		}
		values[s.Name] = value
	}
	return values, errors.Join(errs...)
}

// secret reads a file of one line.
func secret(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err // has the name
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	value := strings.TrimRight(string(data), "\r\n")
	switch {
	case err != nil:
		return "", err
	case len(data) > maxSecret:
		return "", fmt.Errorf("%s has more than %d bytes", name, maxSecret)
	case value == "":
		return "", fmt.Errorf("%s is empty", name)
	case strings.ContainsAny(value, "\r\n\x00"):
		return "", fmt.Errorf("%s has more than one line", name)
	}
	return value, nil
}
