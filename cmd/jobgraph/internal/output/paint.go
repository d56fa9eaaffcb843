package output

import "github.com/jobgraph/jobgraph/pkg/events"

// Paint colours text for a terminal; the zero value leaves it plain.
type Paint bool

func (p Paint) code(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Dim and Bold change the weight of a text.
func (p Paint) Dim(text string) string { return p.code("2", text) }

// Bold makes a text bold.
func (p Paint) Bold(text string) string { return p.code("1", text) }

// Added colours a line that was added.
func (p Paint) Added(text string) string { return p.code("32", text) }

// Removed colours a line that was removed.
func (p Paint) Removed(text string) string { return p.code("31", text) }

// Status gives a text the colour of a status.
func (p Paint) Status(s events.Status, text string) string {
	switch s {
	case events.Finished:
		return p.code("32", text)
	case events.Failed:
		return p.code("31", text)
	case events.Stopped, events.Legacy:
		return p.code("90", text)
	case events.Waiting:
		return p.code("33", text)
	case events.Running, events.Planning, events.Ready, events.Finalizing:
		return p.code("36", text)
	}
	return text
}
