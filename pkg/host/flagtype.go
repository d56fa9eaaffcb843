package host

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errOutside means that a value is well-formed but outside its limit, which the fault adds.
var errOutside = errors.New("outside the limit")

// String declares a setting whose value is a text.
func (f *Flags) String(p *string, flag Flag) {
	flag.Set = func(value string) error {
		if flag.Check != nil {
			if err := flag.Check(value); err != nil {
				return err
			}
		}
		*p = value
		return nil
	}
	f.Add(flag)
}

// Choice declares a text with a fixed set of values.
func (f *Flags) Choice(p *string, choices []string, flag Flag) {
	flag.Limit = "one of " + strings.Join(choices, ", ")
	flag.Set = func(value string) error {
		if !slices.Contains(choices, value) {
			return errOutside
		}
		*p = value
		return nil
	}
	f.Add(flag)
}

// Int declares an integer from least to most.
func (f *Flags) Int(p *int, least, most int, flag Flag) {
	flag.Limit = fmt.Sprintf("a whole number from %d to %d", least, most)
	if most == math.MaxInt {
		flag.Limit = fmt.Sprintf("a whole number, at least %d", least)
	}
	flag.Set = func(value string) error {
		number, err := strconv.Atoi(value)
		if err != nil || number < least || number > most {
			return errOutside
		}
		*p = number
		return nil
	}
	f.Add(flag)
}

// Duration declares a time span from least to most, in Go's notation: 1m30s.
func (f *Flags) Duration(p *time.Duration, least, most time.Duration, flag Flag) {
	flag.Limit = fmt.Sprintf("a duration from %s to %s, such as 1m30s", least, most)
	flag.Set = func(value string) error {
		span, err := time.ParseDuration(value)
		if err != nil || span < least || span > most {
			return errOutside
		}
		*p = span
		return nil
	}
	f.Add(flag)
}

// Bool declares a setting that is on or off.
func (f *Flags) Bool(p *bool, flag Flag) {
	flag.Switch = true
	flag.Limit = "true or false"
	flag.Set = func(value string) error {
		on, err := strconv.ParseBool(value)
		if err != nil {
			return errOutside
		}
		*p = on
		return nil
	}
	f.Add(flag)
}

// Strings declares a comma-separated list of texts; surrounding blanks and empty texts are dropped.
func (f *Flags) Strings(p *[]string, flag Flag) {
	flag.Set = func(value string) error {
		var items []string
		for item := range strings.SplitSeq(value, ",") {
			if item = strings.TrimSpace(item); item == "" {
				continue
			}
			if flag.Check != nil {
				if err := flag.Check(item); err != nil {
					return fmt.Errorf("item %q: %w", item, err)
				}
			}
			items = append(items, item)
		}
		*p = items
		return nil
	}
	f.Add(flag)
}

// Text declares a value of any type that unmarshals itself from text.
func (f *Flags) Text(p encoding.TextUnmarshaler, flag Flag) {
	flag.Set = func(value string) error { return p.UnmarshalText([]byte(value)) }
	f.Add(flag)
}
