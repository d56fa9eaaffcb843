package drawing

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// Sizes of the SVG in pixels, besides those of the layout.
const (
	margin   = 24
	headline = 34
)

func svg(g Graph) string {
	l := Arrange(g, nil)
	right := max(l.Width, len(g.Title)*letter) + 2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", right, l.Height+headline+2*margin)
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>` + "\n")
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	if g.Title != "" {
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="16" font-weight="bold">%s</text>`+"\n", margin, margin+8, html.EscapeString(g.Title))
	}
	for _, e := range l.Edges {
		fmt.Fprintf(&b, `<path d="%s" stroke="#777" fill="none" marker-end="url(#arrow)"/>`+"\n", l.path(e))
	}
	for i, p := range l.Places {
		drawBox(&b, g.Nodes[i], p)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// path returns the line of an edge from the bottom of one box, through its bends, to the top of another.
func (l *Layout) path(e Edge) string {
	from, to := l.Places[e.From], l.Places[e.To]
	points := append([]int{from.X + from.Width/2, from.Y + from.Height}, e.Via...)
	points = append(points, to.X+to.Width/2, to.Y)
	var b strings.Builder
	fmt.Fprintf(&b, "M%d %d", points[0]+margin, points[1]+margin+headline)
	for i := 2; i < len(points); i += 2 {
		x1, y1, x2, y2 := points[i-2]+margin, points[i-1]+margin+headline, points[i]+margin, points[i+1]+margin+headline
		middle := (y1 + y2) / 2
		fmt.Fprintf(&b, "C%d %d %d %d %d %d", x1, middle, x2, middle, x2, y2)
	}
	return b.String()
}

func drawBox(b *strings.Builder, n Node, p Place) {
	left, top := p.X+margin, p.Y+margin+headline
	fmt.Fprintf(b, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="#555"/>`,
		html.EscapeString(strings.TrimSpace(n.ID+" "+n.Status)), left, top, p.Width, p.Height, colour(class(n.Status)))
	middle, most := left+p.Width/2, (p.Width-16)/letter
	line := top + 31
	if n.Expert != "" {
		line = top + 23
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" font-size="10" fill="#555">%s</text>`, middle, top+40, html.EscapeString(cut(n.Expert, most+4)))
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
