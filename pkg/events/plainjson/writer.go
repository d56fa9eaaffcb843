package plainjson

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// Writer writes objects as json.Marshal would write structs. A method named Must writes its field always, the others leave
// out what is empty, as omitempty and omitzero do. Its first error stays.
type Writer struct {
	text []byte
	err  error
}

// NewWriter makes a writer with room for so many bytes.
func NewWriter(room int) *Writer { return &Writer{text: make([]byte, 0, room)} }

// Bytes gives what was written, and the first error.
func (w *Writer) Bytes() ([]byte, error) { return w.text, w.err }

// Open begins an object, Close ends it.
func (w *Writer) Open() { w.text = append(w.text, '{') }

// Close ends the object that Open began.
func (w *Writer) Close() { w.text = append(w.text, '}') }

// List writes a list of n values in brackets; item writes each.
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

// Key writes the name of a plain field; its value has to follow.
func (w *Writer) Key(name string) {
	w.comma()
	w.text = append(append(append(w.text, '"'), name...), '"', ':')
}

// AnyKey writes the name of a field that may hold anything; its value has to follow.
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

// Quote writes a text in quotes.
func (w *Writer) Quote(text string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf-1 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			w.Value(text)
			return
		}
	}
	w.text = append(append(append(w.text, '"'), text...), '"')
}

// Verbatim writes JSON as it is.
func (w *Writer) Verbatim(text []byte) { w.text = append(w.text, text...) }

// Value writes anything by encoding/json.
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

// Some writes a field by encoding/json when it is there.
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

// Text writes a text that is not empty.
func (w *Writer) Text(name, text string) {
	if text != "" {
		w.MustText(name, text)
	}
}

// Texts writes a list of texts that is not empty.
func (w *Writer) Texts(name string, list []string) {
	if len(list) > 0 {
		w.Key(name)
		w.List(len(list), func(i int) { w.Quote(list[i]) })
	}
}

// MustInt writes a whole number.
func (w *Writer) MustInt(name string, n int64) {
	w.Key(name)
	w.text = strconv.AppendInt(w.text, n, 10)
}

// Int writes a whole number that is not 0.
func (w *Writer) Int(name string, n int64) {
	if n != 0 {
		w.MustInt(name, n)
	}
}

// MustUint writes a whole number.
func (w *Writer) MustUint(name string, n uint64) {
	w.Key(name)
	w.text = strconv.AppendUint(w.text, n, 10)
}

// Uint writes a whole number that is not 0.
func (w *Writer) Uint(name string, n uint64) {
	if n != 0 {
		w.MustUint(name, n)
	}
}

// Flag writes true, and leaves false out.
func (w *Writer) Flag(name string, on bool) {
	if on {
		w.Key(name)
		w.text = append(w.text, "true"...)
	}
}

// Time writes a time that is not zero, as RFC 3339 with nanoseconds.
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

// Ints writes a list of whole numbers that is not empty.
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
