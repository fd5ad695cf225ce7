package quirk

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// decode reads a quirk's value from JSON. Strings are taken for every kind,
// so that a flag and a body are read by the same rules.
func (d Def) decode(raw json.RawMessage) (any, error) {
	if d.Kind == Rates {
		return d.decodeRates(raw)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		return d.parse(v)
	case bool:
		return d.parse(strconv.FormatBool(v))
	case float64:
		return d.parse(strconv.FormatFloat(v, 'f', -1, 64))
	default:
		return nil, fmt.Errorf("want a %s", d.Kind)
	}
}

// parse reads a quirk's value from text.
func (d Def) parse(text string) (any, error) {
	switch d.Kind {
	case Switch:
		return strconv.ParseBool(text)
	case Count:
		return parseCount(text)
	case Number:
		return strconv.ParseInt(text, 10, 64)
	case Duration:
		return parseDuration(text)
	case Text:
		if len(d.Choices) > 0 && !slices.Contains(d.Choices, text) {
			return nil, fmt.Errorf("want one of %s", strings.Join(d.Choices, ", "))
		}
		return text, nil
	case Rates:
		return d.parseRates(text)
	default:
		return nil, errors.New("is always on")
	}
}

func parseCount(text string) (int64, error) {
	switch text {
	case "true":
		return Always, nil
	case "false":
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && n < Always {
		err = errors.New("want a count, or -1 for every time")
	}
	return n, err
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if seconds, bare := strconv.ParseFloat(text, 64); bare == nil {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err == nil && d < 0 {
		err = errors.New("want a duration that is not negative")
	}
	return d, err
}

// parseRates reads "class:0.1;class:0.02".
func (d Def) parseRates(text string) (map[string]float64, error) {
	rates := map[string]float64{}
	for part := range strings.SplitSeq(text, ";") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, ":")
		p, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("%q: want class:probability", part)
		}
		rates[name] = p
	}
	return rates, d.checkRates(rates)
}

func (d Def) decodeRates(raw json.RawMessage) (map[string]float64, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return d.parseRates(text)
	}
	rates := map[string]float64{}
	if err := json.Unmarshal(raw, &rates); err != nil {
		return nil, err
	}
	return rates, d.checkRates(rates)
}

func (d Def) checkRates(rates map[string]float64) error {
	sum := 0.0
	for name, p := range rates {
		if !slices.Contains(d.Choices, name) {
			return fmt.Errorf("unknown class %q, want one of %s", name, strings.Join(d.Choices, ", "))
		}
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("%s: want a probability from 0 to 1", name)
		}
		sum += p
	}
	if sum > 1 {
		return errors.New("the probabilities add up to more than 1")
	}
	return nil
}

// ParseList applies a command-line list, "name,name=value". A name alone
// turns a switch on and lets a count quirk fire every time.
func (s *Set) ParseList(list string) error {
	body := map[string]json.RawMessage{}
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		name, value, given := strings.Cut(item, "=")
		if !given {
			value = "true"
		}
		quoted, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("quirk %s: %w", name, err)
		}
		body[name] = quoted
	}
	return s.Merge(body)
}
