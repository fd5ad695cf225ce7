package settings

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// faults is everything that is wrong with an environment.
type faults []error

func (f faults) Error() string {
	if len(f) == 1 {
		return f[0].Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d faults in the configuration:", len(f))
	for _, err := range f {
		b.WriteString("\n  " + err.Error())
	}
	return b.String()
}

func (f faults) Unwrap() []error { return f }

// flatten lists the errors that errors.Join put together.
func flatten(err error) faults {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return faults{err}
	}
	var all faults
	for _, err := range joined.Unwrap() {
		all = append(all, flatten(err)...)
	}
	return all
}

// unknown reports the names in environment that are ours by their prefix and
// that nobody reads.
func unknown(all []variable, prefix string, environment map[string]string) faults {
	names := map[string]bool{}
	shares := false
	for _, v := range all {
		names[v.name] = true
		shares = shares || strings.HasPrefix(v.name, Shared)
	}
	var found faults
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		ours := prefix != "" && strings.HasPrefix(name, prefix) || shares && strings.HasPrefix(name, Shared)
		if !ours || names[name] {
			continue
		}
		if near := nearest(name, all); near != "" {
			found = append(found, fmt.Errorf("%s: there is no such variable, did you mean %s?", name, near))
		} else {
			found = append(found, fmt.Errorf("%s: there is no such variable", name))
		}
	}
	return found
}

// nearest is the name that was probably meant, or "": at most two letters off,
// or the name of a file where the secret itself was given.
func nearest(name string, all []variable) string {
	best, least := "", 3
	for _, v := range all {
		if v.name == name+"_FILE" {
			return v.name
		}
		if d := distance(name, v.name); d < least {
			best, least = v.name, d
		}
	}
	return best
}

// distance counts the letters to insert, remove or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// explain says what is wrong with v, which has this value ("" for none), in
// the words of an operator.
func (v *variable) explain(value string, err error) error {
	if errors.Is(err, env.VarIsNotSetError{}) || errors.Is(err, env.EmptyVarError{}) {
		return fmt.Errorf("%s: required, but not set", v.name)
	}
	want := expected(v.field.Type)
	switch {
	case v.field.Type == reflect.TypeFor[Secret]():
		return fmt.Errorf("%s: want %s: %w", v.name, want, cause(err))
	case v.hasOption("file"): // what the file holds is none of the log's business
		return fmt.Errorf("%s: want the path of a file that holds %s", v.name, cmp.Or(want, "a valid value"))
	}
	if value == "" {
		value = v.field.Tag.Get("envDefault")
	}
	switch {
	case want == "":
		return fmt.Errorf("%s: %q: %w", v.name, value, cause(err))
	case v.field.Type == reflect.TypeFor[url.URL]() && strings.Contains(value, "@"):
		return fmt.Errorf("%s: want %s", v.name, want) // a password may stand before the @
	}
	return fmt.Errorf("%s: %q: want %s", v.name, value, want)
}

// cause is the innermost reason, without what env says of Go's fields or the
// system of paths: either may quote what must not be shown.
func cause(err error) error {
	var (
		aggregate env.AggregateError
		parse     env.ParseError
		path      *fs.PathError
	)
	if errors.As(err, &aggregate) && len(aggregate.Errors) == 1 {
		err = aggregate.Errors[0]
	}
	if errors.As(err, &parse) {
		err = parse.Err
	}
	if errors.As(err, &path) {
		err = path.Err
	}
	return err
}

// expected says what a value of type t looks like, or "" where the error of
// its own parser has to.
func expected(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Seconds]():
		return "seconds or a duration such as 90, 1.5 or 1m30s, not negative"
	case reflect.TypeFor[Bytes]():
		return "bytes or a size such as 1048576, 16MiB or 2GB"
	case reflect.TypeFor[HostPort]():
		return "host:port, or :port for every host"
	case reflect.TypeFor[Secret]():
		return "the path of a file that holds the secret"
	case reflect.TypeFor[slog.Level]():
		return "DEBUG, INFO, WARN or ERROR"
	case reflect.TypeFor[url.URL]():
		return "an address such as http://127.0.0.1:8080"
	case reflect.TypeFor[time.Duration]():
		return "a duration such as 1m30s"
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return ""
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number of %d bits, not negative", t.Bits())
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		if each := expected(t.Elem()); each != "" {
			return "a list, each " + each
		}
	}
	return ""
}
