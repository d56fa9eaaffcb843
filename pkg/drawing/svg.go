package drawing

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// Sizes of the SVG in pixels.
const (
	boxHeight = 44
	boxLeast  = 90
	boxMost   = 260
	letter    = 7
	levelGap  = 56
	boxGap    = 24
	margin    = 24
	headline  = 34
)

func svg(g Graph) string {
	l := arrange(g)
	width := func(s spot) int {
		if s.node < 0 {
			return 8
		}
		n := g.Nodes[s.node]
		letters := max(utf8.RuneCountInString(n.label()), utf8.RuneCountInString(n.Expert))
		return min(max(letters*letter+24, boxLeast), boxMost)
	}
	x := l.place(width, boxGap)
	right := len(g.Title) * letter
	for i, s := range l.spots {
		x[i] += margin
		right = max(right, x[i]+width(s)/2)
	}
	y := func(s spot) int { return margin + headline + s.layer*(boxHeight+levelGap) }
	bottom := margin + headline + len(l.layers)*(boxHeight+levelGap)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", right+margin, bottom)
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>` + "\n")
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	if g.Title != "" {
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="16" font-weight="bold">%s</text>`+"\n", margin, margin+8, html.EscapeString(g.Title))
	}
	l.drawEdges(&b, x, y)
	for i, s := range l.spots {
		if s.node >= 0 {
			drawBox(&b, g.Nodes[s.node], x[i], y(s), width(s))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawEdges draws each segment from the bottom of one spot to the top of the next; a segment that ends at a node has an
// arrowhead.
func (l *layout) drawEdges(b *strings.Builder, x []int, y func(spot) int) {
	for i, from := range l.spots {
		for _, j := range from.succs {
			to := l.spots[j]
			y1, y2 := y(from)+boxHeight, y(to)
			if from.node < 0 {
				fmt.Fprintf(b, `<path d="M%d %dV%d" stroke="#777" fill="none"/>`+"\n", x[i], y1-boxHeight, y1)
			}
			head := ` marker-end="url(#arrow)"`
			if to.node < 0 {
				head = ""
			}
			middle := (y1 + y2) / 2
			fmt.Fprintf(b, `<path d="M%d %dC%d %d %d %d %d %d" stroke="#777" fill="none"%s/>`+"\n", x[i], y1, x[i], middle, x[j], middle, x[j], y2, head)
		}
	}
}

func drawBox(b *strings.Builder, n Node, middle, top, width int) {
	fmt.Fprintf(b, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="#555"/>`,
		html.EscapeString(strings.TrimSpace(n.ID+" "+n.Status)), middle-width/2, top, width, boxHeight, colour(class(n.Status)))
	most := (width - 16) / letter
	line := top + 27
	if n.Expert != "" {
		line = top + 19
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" font-size="10" fill="#555">%s</text>`, middle, top+35, html.EscapeString(cut(n.Expert, most+4)))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text></g>`+"\n", middle, line, html.EscapeString(cut(n.label(), most)))
}

// cut shortens a text to a number of characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	return string(runes[:max(0, most-1)]) + "…"
}
