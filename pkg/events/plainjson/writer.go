package plainjson

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// Writer writes objects as json.Marshal writes structs. Methods whose name begins with Must always write their field; the
// others leave out empty values, as omitempty and omitzero do. The first error is kept.
type Writer struct {
	text []byte
	err  error
}

// NewWriter returns a writer with preallocated space.
func NewWriter(room int) *Writer { return &Writer{text: make([]byte, 0, room)} }

// NewWriterIn returns a writer that appends to a text.
func NewWriterIn(text []byte) *Writer { return &Writer{text: text} }

// Bytes returns the text and the first error.
func (w *Writer) Bytes() ([]byte, error) { return w.text, w.err }

// Open begins an object, Close ends it.
func (w *Writer) Open() { w.text = append(w.text, '{') }

// Close ends the object that Open began.
func (w *Writer) Close() { w.text = append(w.text, '}') }

// List writes a list of n values; item writes each of them.
func (w *Writer) List(n int, item func(i int)) {
	w.text = append(w.text, '[')
	for i := range n {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		item(i)
	}
	w.text = append(w.text, ']')
}

// Key writes a field name without characters that need escapes; the value must follow.
func (w *Writer) Key(name string) {
	w.comma()
	w.text = append(append(append(w.text, '"'), name...), '"', ':')
}

// AnyKey writes any field name; the value must follow.
func (w *Writer) AnyKey(name string) {
	w.comma()
	w.Quote(name)
	w.text = append(w.text, ':')
}

func (w *Writer) comma() {
	if w.text[len(w.text)-1] != '{' {
		w.text = append(w.text, ',')
	}
}

// Quote writes a text as a JSON string.
func (w *Writer) Quote(text string) {
	ascii := true
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf {
			ascii = false
		} else if escapes(c) {
			w.Value(text)
			return
		}
	}
	if !ascii && !unescaped([]byte(text)) {
		w.Value(text)
		return
	}
	w.text = append(append(append(w.text, '"'), text...), '"')
}

// Verbatim writes JSON unchanged.
func (w *Writer) Verbatim(text []byte) { w.text = append(w.text, text...) }

// Raw writes JSON as json.Marshal writes a json.RawMessage.
func (w *Writer) Raw(text []byte) {
	if Plain(text) {
		w.text = append(w.text, text...)
		return
	}
	w.Value(json.RawMessage(text))
}

// JSON writes a field as json.Marshal writes a json.RawMessage, unless it is empty.
func (w *Writer) JSON(name string, text []byte) {
	if len(text) > 0 {
		w.Key(name)
		w.Raw(text)
	}
}

// Value writes any value with encoding/json.
func (w *Writer) Value(v any) {
	part, err := json.Marshal(v)
	w.fail(err)
	w.text = append(w.text, part...)
}

func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Some writes a field with encoding/json; it leaves the field out if the argument there is false.
func (w *Writer) Some(name string, there bool, v any) {
	if there {
		w.Key(name)
		w.Value(v)
	}
}

// MustText writes a text.
func (w *Writer) MustText(name, text string) {
	w.Key(name)
	w.Quote(text)
}

// Text writes a text unless it is empty.
func (w *Writer) Text(name, text string) {
	if text != "" {
		w.MustText(name, text)
	}
}

// Texts writes a list of texts unless it is empty.
func (w *Writer) Texts(name string, list []string) {
	if len(list) > 0 {
		w.Key(name)
		w.List(len(list), func(i int) { w.Quote(list[i]) })
	}
}

// MustInt writes an integer.
func (w *Writer) MustInt(name string, n int64) {
	w.Key(name)
	w.text = strconv.AppendInt(w.text, n, 10)
}

// Int writes an integer unless it is 0.
func (w *Writer) Int(name string, n int64) {
	if n != 0 {
		w.MustInt(name, n)
	}
}

// MustUint writes an integer.
func (w *Writer) MustUint(name string, n uint64) {
	w.Key(name)
	w.text = strconv.AppendUint(w.text, n, 10)
}

// Uint writes an integer unless it is 0.
func (w *Writer) Uint(name string, n uint64) {
	if n != 0 {
		w.MustUint(name, n)
	}
}

// Flag writes true; it leaves false out.
func (w *Writer) Flag(name string, on bool) {
	if on {
		w.Key(name)
		w.text = append(w.text, "true"...)
	}
}

// Time writes a time unless it is zero, as RFC 3339 with nanoseconds.
func (w *Writer) Time(name string, t time.Time) {
	if t.IsZero() {
		return
	}
	w.Key(name)
	w.text = append(w.text, '"')
	text, err := t.AppendText(w.text)
	w.fail(err)
	w.text = append(text, '"')
}

// Ints writes a list of integers unless it is empty.
func Ints[N ~int32 | ~int64 | ~uint64](w *Writer, name string, list []N) {
	if len(list) == 0 {
		return
	}
	w.Key(name)
	w.List(len(list), func(i int) {
		if n := list[i]; n < 0 {
			w.text = strconv.AppendInt(w.text, int64(n), 10)
		} else {
			w.text = strconv.AppendUint(w.text, uint64(n), 10)
		}
	})
}
