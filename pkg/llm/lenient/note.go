package lenient

import (
	"fmt"
	"strings"
)

// Kind names one sort of repair. Its values are stable, so that they can label metrics.
type Kind string

// The sorts of repair.
const (
	// Encoded is JSON that was written as the content of a JSON string.
	Encoded Kind = "encoded"
	// Thought is a value taken out of unclosed thinking.
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
	// Number is a number in a form that JSON does not have.
	Number Kind = "number"
	// MissingComma is an inserted comma.
	MissingComma Kind = "missing comma"
	// ExtraComma is a removed comma.
	ExtraComma Kind = "extra comma"
	// MissingColon is an inserted or replaced colon.
	MissingColon Kind = "missing colon"
	// MissingValue is a member that got null, or was left out, because it had no value.
	MissingValue Kind = "missing value"
	// MissingOpener is an inserted outermost brace.
	MissingOpener Kind = "missing opener"
	// MissingCloser is an inserted closing bracket.
	MissingCloser Kind = "missing closer"
	// ExtraCloser is a removed closing bracket.
	ExtraCloser Kind = "extra closer"
	// ExtraOpener is a removed opening bracket.
	ExtraOpener Kind = "extra opener"
	// Ellipsis is a row of dots in place of content that the writer left out.
	Ellipsis Kind = "ellipsis"
	// Wrapper is a call, a constructor or a string prefix around a value.
	Wrapper Kind = "wrapper"
	// Doubled is one of two quotes in a row, removed.
	Doubled Kind = "doubled quote"
	// Repeated is a key that its object has twice.
	Repeated Kind = "repeated key"
	// Typed is a value of another type, written as what the shape asks for.
	Typed Kind = "typed"
	// Junk is meaningless text between values.
	Junk Kind = "junk"
)

// Note is one repair, or several of the same kind in a row.
type Note struct {
	// Kind is the sort of repair.
	Kind Kind
	// At is the byte offset of the first one in the text.
	At int
	// Count is the number of repairs, at least 1.
	Count int
}

// Notes are all repairs in the order of the text. After the first maxNotes entries, those of one kind share an entry.
type Notes []Note

// maxNotes limits the notes about a text that consists of mistakes.
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

// String returns one line for a log: "bare key@1 extra comma@17x2".
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
