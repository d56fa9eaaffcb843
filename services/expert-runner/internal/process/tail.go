package process

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Tail keeps the end of a stream. It may be read while it is written.
type Tail struct {
	// Limit is how much is kept, in bytes.
	Limit int
	// Redactor removes secrets before anything is cut; nil removes nothing.
	Redactor *redact.Redactor

	mu     sync.Mutex // Guards the fields below.
	kept   []byte
	stream *redact.Stream // Made with the first write.
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stream == nil {
		t.stream = t.Redactor.Stream(false)
	}
	if t.Redactor.Empty() {
		t.kept = append(t.kept, p...)
	} else {
		t.kept = append(t.kept, t.stream.Feed(string(p))...)
	}
	if len(t.kept) > 4*t.Limit {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.Limit-1:]...) // One more byte shows that something is missing.
	}
	return len(p), nil
}

// Text returns the end of the stream, as valid UTF-8 and, if there are several lines, whole lines.
func (t *Tail) Text() string { return t.End(t.Limit) }

// End is Text with a lower limit, in bytes.
func (t *Tail) End(limit int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.kept
	if t.stream != nil {
		so := *t.stream // More may be written.
		kept = append(kept[:len(kept):len(kept)], so.Flush()...)
	}
	if len(kept) > limit {
		kept = kept[len(kept)-limit:]
		for len(kept) > 0 && !utf8.RuneStart(kept[0]) {
			kept = kept[1:]
		}
		if _, rest, ok := strings.Cut(string(kept), "\n"); ok && rest != "" {
			kept = []byte(rest)
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(kept), "\uFFFD"))
}
