// Package settings reads a service's configuration from its environment.
//
// A service declares one struct; the tags of its fields say it all:
//
//	type Config struct {
//		Limit   int              `env:"LIMIT" envDefault:"8" doc:"How many messages are handled at once."`
//		Timeout settings.Seconds `env:"TIMEOUT" envDefault:"15s" doc:"Bounds one command."`
//		Level   slog.Level       `env:"QUARTET_LOG_LEVEL" envDefault:"INFO" doc:"What is logged."`
//		Cache   struct {
//			Size settings.Bytes `env:"SIZE" envDefault:"16MiB" doc:"What the cache may weigh."`
//		} `envPrefix:"CACHE_"`
//	}
//
// Parse fills it. It guarantees that a service never starts on a setting that
// was not understood: a value that does not parse, a required one that is
// missing, and a name that begins with our prefix but that nobody reads are
// faults, and the error lists all of them at once. Write prints the table of
// all variables from the same tags.
//
// The values are parsed by caarlos0/env, whose tag options (required,
// envSeparator and so on) hold. What it does not do: it reads no configuration
// files, does not look at os.Environ by itself, and does not watch for changes.
package settings

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Shared begins the names that all services have in common. A field whose
// env or envPrefix tag begins with it takes that name as it is, without the
// service's prefix before it.
const Shared = "QUARTET_"

// Parse reads a T from environ, which has the form of os.Environ(). T is a
// struct; prefix comes before each name in its tags that is not Shared.
//
// An empty variable counts as one that is not set. A variable that begins with
// prefix and is none of T's is a fault, as is one that begins with Shared if T
// reads any of those.
//
// If *T has a method Validate() error, what that returns is added to the
// faults. It sees the default in place of a value that was at fault, so that it
// does not report it again.
//
// The error names every fault, one a line: the variable, its value and what is
// expected. It never shows a Secret, a value read from a file, or the value of
// a variable that is not ours.
func Parse[T any](prefix string, environ []string) (T, error) {
	var t T
	all := variables(reflect.ValueOf(&t).Elem(), prefix)
	environment := env.ToMap(environ)
	found := unknown(all, prefix, environment)
	maps.DeleteFunc(environment, func(_, value string) bool { return value == "" })
	for _, v := range all {
		if err := v.parse(environment); err != nil {
			found = append(found, v.explain(environment[v.name], err))
			// For Validate. A default that is wrong too was this very fault.
			_ = v.parse(map[string]string{})
		}
	}
	if v, ok := any(&t).(interface{ Validate() error }); ok {
		found = append(found, flatten(v.Validate())...)
	}
	if len(found) > 0 {
		var none T
		return none, found
	}
	return t, nil
}

// variable is one field of T that has a name in the environment.
type variable struct {
	name   string // in full
	prefix string // of name; the rest is in the field's tag
	field  reflect.StructField
	value  reflect.Value // of the field; it can be set
}

// variables lists those of the struct s, in the order of its fields.
func variables(s reflect.Value, prefix string) []variable {
	if s.Kind() != reflect.Struct {
		panic("settings: " + s.Type().String() + " is not a struct")
	}
	var all []variable
	for i := range s.NumField() {
		field := s.Type().Field(i)
		own, _, _ := strings.Cut(field.Tag.Get("env"), ",")
		switch {
		case !field.IsExported() || own == "-":
		case own != "":
			before := scope(prefix, own)
			all = append(all, variable{before + own, before, field, s.Field(i)})
		case field.Type.Kind() == reflect.Struct:
			inner := field.Tag.Get("envPrefix")
			all = append(all, variables(s.Field(i), scope(prefix, inner)+inner)...)
		}
	}
	return all
}

// scope is what comes before name: nothing if it is a Shared one.
func scope(prefix, name string) string {
	if strings.HasPrefix(name, Shared) {
		return ""
	}
	return prefix
}

// parsers replaces those of env that surprise: its int has 32 bits.
var parsers = map[reflect.Type]env.ParserFunc{
	reflect.TypeFor[int](): func(s string) (any, error) { return strconv.Atoi(s) },
}

// parse sets v from environment or its default. It is parsed as the only field
// of a struct, because the errors of env do not tell the variable.
func (v *variable) parse(environment map[string]string) error {
	alone := reflect.New(reflect.StructOf([]reflect.StructField{
		{Name: v.field.Name, Type: v.field.Type, Tag: v.field.Tag},
	}))
	err := env.ParseWithOptions(alone.Interface(), env.Options{
		Environment: environment,
		Prefix:      v.prefix,
		FuncMap:     parsers,
	})
	if err != nil {
		return err
	}
	v.value.Set(alone.Elem().Field(0))
	return nil
}

func (v *variable) hasOption(name string) bool {
	return slices.Contains(strings.Split(v.field.Tag.Get("env"), ",")[1:], name)
}
