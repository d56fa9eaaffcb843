package render

import (
	"html"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// maxDiff is how much of each text is compared, in bytes: the library takes quadratic time in the number of changes.
const maxDiff = 128 << 10

// context is how many equal lines a difference shows around a change.
const context = 3

// Diff renders the difference between two texts, line by line; JSON is indented and its names are sorted first. cut is true if one
// of the texts was longer than 128 KiB and only its beginning was compared.
func Diff(before, after string) (page string, cut bool) {
	before, after, cut = comparable(before, after)
	diff, err := udiff.ToUnifiedDiff("before", "after", before, udiff.Lines(before, after), context)
	if err != nil || len(diff.Hunks) == 0 {
		return `<table class="diff"></table>`, cut
	}
	var b strings.Builder
	b.WriteString(`<table class="diff"><tbody>`)
	end := 1
	for _, h := range diff.Hunks {
		if h.FromLine > end {
			row(&b, "skip", 0, 0, "⋯ "+strconv.Itoa(h.FromLine-end)+" equal lines")
		}
		from, to := h.FromLine, h.ToLine
		for _, line := range h.Lines {
			text := strings.TrimSuffix(line.Content, "\n")
			switch line.Kind {
			case udiff.Delete:
				row(&b, "del", from, 0, text)
				from++
			case udiff.Insert:
				row(&b, "add", 0, to, text)
				to++
			case udiff.Equal:
				row(&b, "same", from, to, text)
				from++
				to++
			}
		}
		end = from
	}
	b.WriteString("</tbody></table>")
	return b.String(), cut
}

// comparable brings both texts into the same form.
func comparable(before, after string) (a, b string, cut bool) {
	cut = len(before) > maxDiff || len(after) > maxDiff
	bound := func(text string) string {
		text = clip.Text(text, maxDiff)
		return strings.ToValidUTF8(indented(text, true), "\ufffd")
	}
	return bound(before), bound(after), cut
}

func row(b *strings.Builder, kind string, from, to int, text string) {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	b.WriteString(`<tr class="diff-` + kind + `"><td class="diff-old">` + number(from) + `</td><td class="diff-new">` + number(to) + `</td><td class="diff-text">` + html.EscapeString(text) + "</td></tr>")
}
