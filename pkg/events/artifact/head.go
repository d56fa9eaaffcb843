package artifact

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// Head is what a file begins with. It takes the bytes of the file and refuses those that it has no room for, which ends the reading.
type Head struct {
	most int
	kept []byte
	full bool
}

// NewHead has room for so many bytes.
func NewHead(most int) *Head { return &Head{most: most} }

// errFull ends the reading of a file.
var errFull = errors.New("enough was read")

// Write implements io.Writer.
func (h *Head) Write(p []byte) (int, error) {
	n := min(len(p), h.most-len(h.kept))
	h.kept = append(h.kept, p[:n]...)
	if n < len(p) {
		h.full = true
		return n, errFull
	}
	return n, nil
}

// Full reports whether the file has more than there is room for: an error of reading says no more than that.
func (h *Head) Full() bool { return h.full }

// Text is what was taken, without a letter at the end that was cut; empty for what is no text.
func (h *Head) Text() string {
	text := h.kept
	for cut := 0; h.full && cut < utf8.UTFMax && !utf8.Valid(text); cut++ {
		text = text[:len(text)-1]
	}
	if !utf8.Valid(text) || bytes.ContainsFunc(text, binary) {
		return ""
	}
	return string(text)
}

// binary reports whether a character is one that texts do not have. Colours of a terminal begin with escape.
func binary(c rune) bool { return c < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", c) }
