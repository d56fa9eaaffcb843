package expert

import (
	"bytes"

	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// maxLine is how much of an incomplete line is held back, in bytes.
const maxLine = 8 << 10

// Lines shows a stream to watchers line by line, as one item of the type Log. It belongs to one goroutine.
type Lines struct {
	// Task shows the lines; ID is the ID of the item.
	Task *Task
	ID   string

	rest []byte // The beginning of a line.
	sent int
}

// Write never fails.
func (l *Lines) Write(p []byte) (int, error) {
	if l.Task.Items == nil {
		return len(p), nil
	}
	l.rest = append(l.rest, p...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 && len(l.rest) >= maxLine {
		end = len(l.rest)
	}
	if end > 0 {
		l.show(l.rest[:end], false)
		l.rest = append(l.rest[:0], l.rest[end:]...)
	}
	return len(p), nil
}

// End shows the rest, and marks the item as done.
func (l *Lines) End() {
	if l.sent > 0 || len(l.rest) > 0 {
		l.show(l.rest, true)
	}
}

func (l *Lines) show(text []byte, done bool) {
	l.Task.Show(item.Item{Type: item.Log, ID: l.ID, Offset: l.sent, Text: string(text), Done: done})
	l.sent += len(text)
}
