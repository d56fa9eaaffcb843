package person

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/schema"
)

// Config is what a card says of its person.
type Config struct {
	// User is the only one who may answer; that of the request when empty, and anybody when it has none either.
	User string `yaml:"user"`
	// Expires bounds the wait; 0 waits for ever.
	Expires time.Duration `yaml:"expires"`
	// Default is the answer taken when it expires. Without one the SubJob fails then.
	Default any `yaml:"default"`
	// Form is the JSON Schema of an answer; nil takes the SubJob's output_schema, and any words without that.
	Form json.RawMessage `yaml:"-"`
	// Intro is told to the person in front of the work.
	Intro string `yaml:"-"`
}

// IsZero reports whether a card says nothing of a person.
func (c *Config) IsZero() bool { return reflect.ValueOf(*c).IsZero() }

// check reads the form and holds the default against it.
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
