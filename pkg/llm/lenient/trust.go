package lenient

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Trust says how certain it is that a value is what the writer meant.
type Trust byte

// The levels of trust, the best first.
const (
	// Unchanged means that the text contains the value as JSON.
	Unchanged Trust = iota
	// Repaired means that there were mistakes with one likely meaning.
	Repaired
	// Guessed means that several meanings are likely. Do not act on such a value.
	Guessed
)

// String returns the name of a level, for metrics and logs.
func (t Trust) String() string {
	switch t {
	case Unchanged:
		return "unchanged"
	case Repaired:
		return "repaired"
	}
	return "guess"
}

// Doubt is a place where the text can be read in more than one way.
type Doubt struct {
	// At is its byte offset, Line and Column count from 1, Column in characters.
	At, Line, Column int
	// Excerpt is the text around it, one line.
	Excerpt string
	// Expected says what could follow there.
	Expected string
}

// String describes the doubt in one sentence, for the writer of the text.
func (d *Doubt) String() string {
	return fmt.Sprintf("line %d, column %d, at %q: the JSON can be read in more than one way; %s", d.Line, d.Column, d.Excerpt, d.Expected)
}

// Reading is a value and how far it can be trusted.
type Reading struct {
	// JSON is the value, compact, or nil.
	JSON json.RawMessage
	// Notes are the repairs that were made.
	Notes Notes
	// Trust is the level of trust. Doubt is the first doubtful place of a guess, nil otherwise.
	Trust Trust
	Doubt *Doubt
}

// Examine is like Read, with a level of trust. It tries the possible repairs where the structure breaks and chooses by
// syntax and by Options.Shape. A value that was guessed is not an error; the caller must not act on it.
func Examine[Text ~string | ~[]byte](text Text, o Options) (Reading, error) {
	o = o.filled()
	o.examine = true
	src := string(text)
	found, err := readAll(src, o)
	if err != nil {
		return Reading{}, err
	}
	for i := range found {
		found[i].settle(o.Shape)
	}
	best, err := choose(found, o.Fits)
	if err == nil {
		best.part(found, o.Shape)
	}
	r := Reading{JSON: best.JSON, Notes: best.Notes}
	switch {
	case best.doubt != nil || best.risk != nil || best.Cut:
		r.Trust = Guessed
		r.Doubt = locate(src, &best)
	case len(best.Notes) > 0:
		r.Trust = Repaired
	}
	return r, err
}

// part doubts a value that follows a broken one, since it may be part of that one, unless the shape shows that it is complete.
func (v *Value) part(found []Value, shape *Shape) {
	if v.doubt != nil || shape != nil && len(shape.required) > 0 && fitting(string(v.JSON), shape) {
		return
	}
	for i := range found {
		other := &found[i]
		if other.Start < v.Start && other.thought == v.thought && (other.Cut || other.doubt != nil || other.risk != nil) {
			v.doubt = &Doubt{At: other.Start, Expected: "the JSON that begins here is broken"}
			return
		}
	}
}

// settle lets the shape decide what JSON leaves open.
func (v *Value) settle(shape *Shape) {
	settled, changed, twice := settle(v.JSON, shape)
	if changed {
		v.JSON = settled
		v.Notes = append(v.Notes, Note{Kind: Typed, At: v.Start, Count: 1})
	}
	if twice && v.doubt == nil {
		v.doubt = &Doubt{At: v.Start, Expected: "an object has the same key twice with different values; give each key once"}
	}
}

// harmless are the repairs of mistakes that have one meaning.
var harmless = map[Kind]bool{
	Encoded: true, Thought: true, Comment: true, Space: true, Encoding: true, Punctuation: true, Quote: true, Escape: true, Control: true,
	Joined: true, Payload: true, BareKey: true, Literal: true, Number: true, MissingComma: true, ExtraComma: true, MissingColon: true,
	MissingOpener: true, ExtraCloser: true, Wrapper: true, Typed: true,
}

// risky returns the first repair of the parser that may be wrong.
func risky(notes Notes) *Note {
	for i := range notes {
		if !harmless[notes[i].Kind] {
			return &notes[i]
		}
	}
	return nil
}

// locate says where a value is doubtful.
func locate(src string, v *Value) *Doubt {
	d := v.doubt
	switch {
	case d != nil:
	case v.risk != nil:
		d = &Doubt{At: min(v.risk.At, len(src)), Expected: "there is a mistake: " + string(v.risk.Kind)}
	default:
		d = &Doubt{At: len(src), Expected: "the end of the JSON is missing"}
	}
	found := *d
	before := src[:found.At]
	found.Line = 1 + strings.Count(before, "\n")
	found.Column = 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
	found.Excerpt = excerpt(src, found.At)
	return &found
}

// excerpt returns the text around an offset, on one line.
func excerpt(src string, at int) string {
	const around = 30
	from, to := max(0, at-around), min(len(src), at+around)
	return strings.Join(strings.Fields(strings.ToValidUTF8(src[from:to], "")), " ")
}

// expected says what an automaton could continue with.
func expected(a *automaton) string {
	switch {
	case a.stop == inText:
		return "a closing quote is missing"
	case a.stop == ranOut:
		return "the end of the JSON is missing"
	case a.want == wantKey:
		return `a key in quotes or "}" is expected`
	case a.want == wantColon:
		return `":" and a value are expected`
	case a.want == wantValue:
		return "a value is expected"
	}
	return `"," or a closing bracket is expected; quotes inside strings need a backslash`
}
