package events

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Duration is a time span in Go's notation ("1m30s"); a bare number means seconds.
type Duration time.Duration

// Std returns the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// MarshalJSON writes the Go form, "1m30s".
func (d Duration) MarshalJSON() ([]byte, error) { return []byte(`"` + d.Std().String() + `"`), nil }

// UnmarshalJSON reads "1m30s" or a number of seconds; a negative span is an error.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	return d.UnmarshalText([]byte(text))
}

// UnmarshalText reads the same forms, for YAML and flags.
func (d *Duration) UnmarshalText(text []byte) error {
	span, err := time.ParseDuration(string(text))
	seconds := span.Seconds()
	if err != nil {
		if seconds, err = strconv.ParseFloat(string(text), 64); err != nil || seconds != seconds {
			return fmt.Errorf("duration %.40q: want a number of seconds or a form like \"1m30s\"", text)
		}
		span = time.Duration(seconds * float64(time.Second))
	}
	if seconds < 0 || seconds > maxSeconds {
		return fmt.Errorf("duration %.40q: must not be negative, nor longer than a hundred years", text)
	}
	*d = Duration(span)
	return nil
}

// maxSeconds is a hundred years: a longer span is a mistake and would overflow.
const maxSeconds = 100 * 365 * 24 * 3600
