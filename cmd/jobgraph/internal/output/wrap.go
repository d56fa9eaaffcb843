package output

import (
	"strings"

	"github.com/jobgraph/jobgraph/pkg/drawing"
)

// Wrap breaks the lines of a text that are wider than a terminal between words. Continuations are aligned with the text of their line,
// after its indent and a leading arrow. Commands between backticks stay in one piece, so that they can be copied; so do words that
// are wider than the terminal. 0 as the width means no limit.
func Wrap(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if drawing.Width(line) > width {
			indent := len(line) - len(strings.TrimLeft(line, " "))
			if strings.HasPrefix(line[indent:], "→ ") {
				indent += 2
			}
			lines[i] = WrapLine(line, width, indent)
		}
	}
	return strings.Join(lines, "\n")
}

// WrapLine breaks a line like Wrap, but not before a column; from there its continuations begin.
func WrapLine(line string, width, indent int) string {
	rest := strings.TrimLeft(line, " ")
	margin := strings.Repeat(" ", indent)
	var b strings.Builder
	b.WriteString(line[:len(line)-len(rest)])
	column, first := len(line)-len(rest), true
	for _, word := range words(rest) {
		wide := drawing.Width(word)
		switch {
		case first:
		case column+1+wide > width && column >= indent:
			b.WriteString("\n" + margin)
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column, first = column+wide, false
	}
	return b.String()
}

// words splits a line at its spaces, except between backticks.
func words(line string) (list []string) {
	quoted, begin := false, 0
	for i := range len(line) {
		switch {
		case line[i] == '`':
			quoted = !quoted && strings.IndexByte(line[i+1:], '`') >= 0
		case line[i] == ' ' && !quoted:
			list = append(list, line[begin:i])
			begin = i + 1
		}
	}
	return append(list, line[begin:])
}
