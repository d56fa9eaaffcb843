package lenient

import (
	"fmt"
	"strings"
)

// Kind names one sort of repair. It is stable, so that it can be a label of a metric.
type Kind string

// The sorts of repair.
const (
	// Encoded is JSON that was written as the content of a JSON string.
	Encoded Kind = "encoded"
	// Thought is a value taken out of thinking that was never closed.
	Thought Kind = "thought"
	// Cut is the place where the text ended inside a value.
	Cut Kind = "cut"
	// Comment is a comment left out.
	Comment Kind = "comment"
	// Space is white space or an invisible character that JSON does not know.
	Space Kind = "space"
	// Encoding is a byte that is not UTF-8.
	Encoding Kind = "encoding"
	// Punctuation is a full-width or foreign bracket, comma or colon.
	Punctuation Kind = "punctuation"
	// Quote is a string in other quotes than JSON's.
	Quote Kind = "quote"
	// InnerQuote is a quote inside a string that was not escaped.
	InnerQuote Kind = "inner quote"
	// OpenString is a string that was not closed before the next member.
	OpenString Kind = "open string"
	// Escape is an escape that JSON does not know.
	Escape Kind = "escape"
	// Control is a raw line break, tab or other control character in a string.
	Control Kind = "control"
	// Joined is a string written in pieces.
	Joined Kind = "joined"
	// Payload is raw text between payload markers.
	Payload Kind = "payload"
	// BareKey is a key without quotes.
	BareKey Kind = "bare key"
	// BareText is a string value without quotes.
	BareText Kind = "bare text"
	// Literal is a literal of another language, such as None.
	Literal Kind = "literal"
	// Number is a number in a form that JSON does not know.
	Number Kind = "number"
	// MissingComma is a comma that was put in.
	MissingComma Kind = "missing comma"
	// ExtraComma is a comma left out.
	ExtraComma Kind = "extra comma"
	// MissingColon is a colon that was put in or replaced.
	MissingColon Kind = "missing colon"
	// MissingValue is a member that got null, or was left out, because it had no value.
	MissingValue Kind = "missing value"
	// MissingOpener is an outermost brace that was put in front.
	MissingOpener Kind = "missing opener"
	// MissingCloser is a bracket that was closed.
	MissingCloser Kind = "missing closer"
	// ExtraCloser is a closing bracket left out.
	ExtraCloser Kind = "extra closer"
	// ExtraOpener is an opening bracket left out.
	ExtraOpener Kind = "extra opener"
	// Ellipsis is a row of dots that stood for something left out by the writer.
	Ellipsis Kind = "ellipsis"
	// Wrapper is a call, a constructor or a string prefix around a value.
	Wrapper Kind = "wrapper"
	// Junk is text between values that stands for nothing.
	Junk Kind = "junk"
)

// Note is one repair, or a row of the same repair without another between.
type Note struct {
	// Kind is the sort of repair.
	Kind Kind
	// At is the byte offset of the first one in the text.
	At int
	// Count is how many there were, at least 1.
	Count int
}

// Notes are all repairs in the order of the text. Beyond the first maxNotes entries those of one kind share one entry.
type Notes []Note

// maxNotes bounds what is kept of a text that is nothing but mistakes.
const maxNotes = 256

// add records one repair.
func (n *Notes) add(kind Kind, at int) {
	list := *n
	if len(list) > 0 && list[len(list)-1].Kind == kind {
		list[len(list)-1].Count++
		return
	}
	if len(list) >= maxNotes {
		for i := maxNotes; i < len(list); i++ {
			if list[i].Kind == kind {
				list[i].Count++
				return
			}
		}
	}
	*n = append(list, Note{Kind: kind, At: at, Count: 1})
}

// Has reports whether a repair of the kind was made.
func (n Notes) Has(kind Kind) bool {
	for _, note := range n {
		if note.Kind == kind {
			return true
		}
	}
	return false
}

// String is one line for a log: "bare key@1 extra comma@17x2".
func (n Notes) String() string {
	parts := make([]string, len(n))
	for i, note := range n {
		parts[i] = fmt.Sprintf("%s@%d", note.Kind, note.At)
		if note.Count > 1 {
			parts[i] += fmt.Sprintf("x%d", note.Count)
		}
	}
	return strings.Join(parts, " ")
}
