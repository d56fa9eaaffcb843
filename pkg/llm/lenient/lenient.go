package lenient

import (
	"encoding/json"
	"errors"
)

// The errors that callers branch on.
var (
	// ErrNoJSON means that the text contains nothing that could be meant as JSON.
	ErrNoJSON = errors.New("no JSON in the text")
	// ErrTruncated means that the text ends inside the JSON, or before it began. What could be closed comes with the error.
	ErrTruncated = errors.New("JSON is cut off")
	// ErrNoFit means that there is JSON, but none that Fits accepts. The most likely value comes with the error.
	ErrNoFit = errors.New("no JSON in the text fits")
	// ErrTooDeep means that values are nested deeper than MaxDepth.
	ErrTooDeep = errors.New("JSON is nested too deep")
	// ErrTooLarge means that the text is longer than MaxBytes.
	ErrTooLarge = errors.New("text is too large")
)

// Options say what to look for. The zero value reads the most likely object or array.
type Options struct {
	// Fits accepts the wanted JSON; nil accepts any. It is called once per candidate, from the last one on.
	Fits func(json.RawMessage) bool
	// Shape is what Examine expects of the value; nil expects nothing.
	Shape *Shape
	// Tags are names such as "deliverable": what stands between <deliverable> and </deliverable>, in any case, takes
	// precedence. A missing or unclosed tag does no harm.
	Tags []string
	// PayloadStart and PayloadEnd enclose raw text that stands for a string value. Empty means DefaultPayloadStart and
	// DefaultPayloadEnd.
	PayloadStart string
	// PayloadEnd closes what PayloadStart opens.
	PayloadEnd string
	// MaxBytes limits the text; 0 means DefaultMaxBytes.
	MaxBytes int
	// MaxDepth limits the nesting; 0 means DefaultMaxDepth, and the maximum is MaxMaxDepth.
	MaxDepth int

	// examine makes the reader try the possible repairs and judge them.
	examine bool
}

const (
	// DefaultPayloadStart marks the beginning of raw text.
	DefaultPayloadStart = "__PAYLOAD_START__"
	// DefaultPayloadEnd marks the end of raw text.
	DefaultPayloadEnd = "__PAYLOAD_END__"
	// DefaultMaxBytes is far above what a model writes in one answer.
	DefaultMaxBytes = 8 << 20
	// DefaultMaxDepth is far above what a model nests on purpose.
	DefaultMaxDepth = 1000
	// MaxMaxDepth is the depth at which encoding/json gives up.
	MaxMaxDepth = 10000
)

// filled returns the options with defaults for zeros.
func (o Options) filled() Options {
	if o.PayloadStart == "" || o.PayloadEnd == "" {
		o.PayloadStart, o.PayloadEnd = DefaultPayloadStart, DefaultPayloadEnd
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxDepth <= 0 {
		o.MaxDepth = DefaultMaxDepth
	}
	o.MaxDepth = min(o.MaxDepth, MaxMaxDepth)
	return o
}

// Object is a Fits that accepts only objects. It also finds an object written as the content of a JSON string.
func Object(value json.RawMessage) bool { return len(value) > 0 && value[0] == '{' }

// Array is a Fits that accepts only arrays.
func Array(value json.RawMessage) bool { return len(value) > 0 && value[0] == '[' }

// Read finds the JSON that a text is about: the last value that Fits accepts, or without Fits the last of the most likely
// kind (inside a tag before outside, objects before lists, complete before cut, in a fence before in prose). The value is
// compact. Errors are the sentinels of this package; with ErrTruncated and ErrNoFit there may be a value.
func Read[Text ~string | ~[]byte](text Text, o Options) (json.RawMessage, Notes, error) {
	o = o.filled()
	found, err := readAll(string(text), o)
	if err != nil {
		return nil, nil, err
	}
	best, err := choose(found, o.Fits)
	return best.JSON, best.Notes, err
}

// ReadAll finds every JSON value of the text outside thinking, in order, at most the last 4096, and marks those that were
// cut. The error is nil if there is at least one.
func ReadAll[Text ~string | ~[]byte](text Text, o Options) ([]Value, error) {
	return readAll(string(text), o.filled())
}

// maxEncodings limits how many levels of JSON inside JSON strings are read.
const maxEncodings = 3

// readAll finds the values of a text. If the text is one string and the caller wants no string, it reads the string's
// content.
func readAll(text string, o Options) ([]Value, error) {
	found, _, err := read(text, o)
	return found, err
}

// read is like readAll, and also returns the number of its steps.
func read(text string, o Options) ([]Value, int, error) {
	steps, start := 0, text
	for level := 0; ; level++ {
		s := scanner{opts: &o, src: text, p: newParser(&o, text)}
		found, err := s.all()
		steps += s.p.ahead.steps
		if level > 0 && len(found) == 0 {
			return []Value{{JSON: json.RawMessage(start), End: len(start)}}, steps, nil
		}
		for i := range found {
			if level > 0 {
				found[i].Start, found[i].End = 0, len(start)
				found[i].inside(&found[i])
				found[i].Notes = Notes{{Kind: Encoded, At: 0, Count: level}}
			}
		}
		inside, encoded := "", len(found) == 1 && found[0].JSON[0] == '"' && !found[0].Cut
		if level == maxEncodings || err != nil || !encoded || o.Fits == nil || o.Fits(found[0].JSON) ||
			json.Unmarshal(found[0].JSON, &inside) != nil {
			return found, steps, err
		}
		if level == 0 {
			start = string(found[0].JSON)
		}
		text = inside
	}
}
