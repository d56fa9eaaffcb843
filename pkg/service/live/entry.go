package live

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

// entry is one open item of a run: what was sent, and what waits to be sent.
type entry struct {
	item   item.Item // The item without its text.
	number int       // The position among the items of the run.
	fed    int       // How many bytes the producer has supplied since the last restart.
	sent   int       // How many bytes of the text were sent, or left out, since then.
	text   []byte    // The text that waits.
	left   int       // How many bytes were left out after text.
	stream *redact.Stream
	news   bool // Something other than text waits.
	dirty  bool // It is in the run's list of waiting items.
	shown  bool // Something was sent.
}

// merge copies the fields of an addition, except its text.
func (e *entry) merge(i *item.Item) {
	to := &e.item
	to.Type, to.User, to.Tool = i.Type, cmp.Or(i.User, to.User), cmp.Or(i.Tool, to.Tool)
	to.Pool = cmp.Or(i.Pool, to.Pool)
	to.Args, to.Bytes = cmp.Or(i.Args, to.Args), cmp.Or(i.Bytes, to.Bytes)
	to.Outcome, to.TookMS = cmp.Or(i.Outcome, to.Outcome), cmp.Or(i.TookMS, to.TookMS)
	to.Component, to.Request = cmp.Or(i.Component, to.Component), cmp.Or(i.Request, to.Request)
	to.Truncated += i.Truncated
	to.Done = to.Done || i.Done
	if i.Data != nil {
		to.Data = i.Data
	}
	if i.Ref != nil {
		to.Ref = i.Ref
	}
	if i.Seam != nil {
		to.Seam = i.Seam
	}
	e.news = e.news || i.Text == "" || i.Done
}

// waits reports whether there is something to send.
func (e *entry) waits() bool { return e.news || len(e.text) > 0 || e.left > 0 }

// restart starts the text again from its beginning.
func (e *entry) restart(stream *redact.Stream) {
	e.fed, e.sent, e.text, e.left, e.stream = 0, 0, nil, 0, stream
	e.item.Truncated = 0
}

// take returns what waits and counts it as sent. Bytes of an incomplete character are kept, unless the item is done.
func (e *entry) take() item.Item {
	text := e.text
	e.text = nil
	if !e.item.Done && e.left == 0 {
		if n := incomplete(text); n > 0 {
			e.text = append(e.text, text[len(text)-n:]...)
			text = text[:len(text)-n]
		}
	}
	i := e.item
	i.Offset, i.Text = e.sent, strings.ToValidUTF8(string(text), "\uFFFD")
	e.sent += len(i.Text) + e.left
	e.left, e.news, e.dirty, e.shown = 0, false, false, true
	if !e.item.Done {
		i.Truncated = 0
	}
	if i.Text == "" && i.Offset > 0 {
		i.Offset = 0
	}
	return i
}

// incomplete returns how many bytes at the end of a text begin a character without ending it.
func incomplete(text []byte) int {
	for n := 1; n <= min(len(text), utf8.UTFMax-1); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
