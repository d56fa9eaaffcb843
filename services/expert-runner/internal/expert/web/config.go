package web

import (
	"fmt"
	"net/http"
	"net/textproto"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Defaults of a Config.
const (
	// DefaultTimeout limits the time for a whole answer.
	DefaultTimeout = 30 * time.Second
	// DefaultLimit limits the size of an answer, in bytes.
	DefaultLimit = 8 << 20
)

// Config describes the call on a card.
type Config struct {
	// Method is the HTTP method; POST when empty.
	Method string `yaml:"method"`
	// URL is the address of the call. {inputs.order} is replaced by that field of the work, only after the host.
	URL string `yaml:"url"`
	// Headers are sent with the request and take precedence over the expert's own.
	Headers map[string]string `yaml:"headers"`
	// Body is the dotted path of the field of the work to send; empty sends all of it.
	Body string `yaml:"body"`
	// Timeout limits the call from dialling to the last byte; DefaultTimeout if 0.
	Timeout time.Duration `yaml:"answer_timeout"`
	// Limit limits the answer in bytes; DefaultLimit if 0.
	Limit int64 `yaml:"answer_limit"`
	// Safe calls may be repeated after an unknown outcome. Reads (GET, HEAD) are always safe.
	Safe bool `yaml:"-"`
	// Share lists which of session, thread and user the server gets.
	Share []string `yaml:"-"`
	// Secrets are removed from the server's answers; may be nil.
	Secrets *redact.Set `yaml:"-"`
}

// IsZero reports whether the card has no settings of this kind.
func (c *Config) IsZero() bool { return reflect.ValueOf(*c).IsZero() }

// Faults lists everything that is wrong; the fields are the keys of the card.
func (c *Config) Faults() events.Faults {
	var faults events.Faults
	add := func(field, message, hint string) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: field, Message: message, Hint: hint})
	}
	if !slices.Contains(methods(), c.method()) {
		add("method", fmt.Sprintf("%q is no method", c.Method), "use "+strings.Join(methods(), ", "))
	}
	if c.URL == "" {
		faults = append(faults, events.Fault{Code: events.CodeMissing, Field: "url", Message: "an http expert needs its address", Hint: "url: https://example.com/orders/{inputs.order}"})
	} else if _, err := parseAddress(c.URL); err != nil {
		add("url", err.Error(), "url: https://example.com/orders/{inputs.order}")
	}
	for name, value := range c.Headers { // any order: faults of one map have the same position.
		if !headerName(name) || strings.ContainsAny(value, "\r\n\x00") {
			add("headers."+name, "is no header", "a name has letters, digits and -, a value is one line")
		}
	}
	if c.Body != "" && !c.sends() {
		add("body", c.method()+" sends none", "leave it out, or use another method")
	}
	if c.Timeout < 0 {
		add("answer_timeout", "must not be negative", "")
	}
	if c.Limit < 0 {
		add("answer_limit", "must not be negative", "")
	}
	slices.SortFunc(faults, func(a, b events.Fault) int { return strings.Compare(a.Field, b.Field) })
	return faults
}

func methods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

func (c *Config) method() string {
	if c.Method == "" {
		return http.MethodPost
	}
	return strings.ToUpper(c.Method)
}

// sends reports whether the call has a body.
func (c *Config) sends() bool { return !reads(c.method()) && c.method() != http.MethodDelete }

func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func headerName(name string) bool {
	return name != "" && textproto.TrimString(name) == name && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
