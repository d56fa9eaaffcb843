package artifact

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// Head collects the beginning of a file. Write the file to it; Write fails once Head is full, which ends the copying.
type Head struct {
	most int
	kept []byte
	full bool
}

// NewHead returns a Head that collects up to most bytes.
func NewHead(most int) *Head { return &Head{most: most} }

// errFull ends the copying of a file.
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

// Full reports whether the file is longer than the limit. If so, the error of the copying means nothing else.
func (h *Head) Full() bool { return h.full }

// Text returns the collected text without a character cut at the end; "" if the file is not text.
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

// binary reports whether a character does not occur in texts. Terminal colours begin with escape.
func binary(c rune) bool { return c < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", c) }
