package person

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/schema"
)

// Config describes the person on a card.
type Config struct {
	// User is the only person who may answer. If it is empty, the user of the request; if that is empty as well, anyone may.
	User string `yaml:"user"`
	// Expires limits the wait; 0 waits for ever.
	Expires time.Duration `yaml:"expires"`
	// Default is the answer if the request expires. Without a default the SubJob then fails.
	Default any `yaml:"default"`
	// Form is the JSON Schema of an answer. If nil, it is the SubJob's output_schema; without one, any text is accepted.
	Form json.RawMessage `yaml:"-"`
	// Intro is shown to the person before the work.
	Intro string `yaml:"-"`
}

// IsZero reports whether the card has no settings of this kind.
func (c *Config) IsZero() bool { return reflect.ValueOf(*c).IsZero() }

// check compiles the form and validates the default against it.
func (c *Config) check() (form *schema.Schema, answer json.RawMessage, err error) {
	if c.Expires < 0 {
		return nil, nil, errors.New("expires must not be negative")
	}
	if c.Form != nil {
		if form, err = schema.Read(c.Form); err != nil {
			return nil, nil, err
		}
	}
	if c.Default == nil {
		return form, nil, nil
	}
	if c.Expires == 0 {
		return nil, nil, errors.New("default is never taken: say with expires when, as in 48h")
	}
	if answer, err = json.Marshal(c.Default); err != nil {
		return nil, nil, errors.New("default is no JSON: use texts as keys")
	}
	if form != nil {
		if wrong := form.Misfits(answer); len(wrong) > 0 {
			return nil, nil, errors.New("default does not fit output_schema: " + strings.Join(wrong, "; "))
		}
	}
	return form, answer, nil
}
