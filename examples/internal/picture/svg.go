package picture

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/examples/internal/graph"
)

const (
	margin     = 40 // pixels around the drawing
	legendLine = 18
	labelRunes = 28
)

// SVG draws g as a stand-alone SVG file. The size of an entity shows its relative weight, its colour its kind.
func SVG(title string, g graph.Graph) []byte {
	d := newDrawing(g)
	kinds := map[string]bool{}
	for _, e := range g.Entities {
		kinds[e.Kind] = true
	}
	header := margin + legendLine*2
	width, height := d.max.x-d.min.x+2*margin, d.max.y-d.min.y+2*margin+int64(header)
	width = max(width, int64(120*len(kinds)+2*margin), 360)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`font-family="system-ui, sans-serif" font-size="12" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fbfbf9\"/>\n", escape(title))
	fmt.Fprintf(&b, `<text x="%d" y="28" font-size="16" font-weight="600" fill="#222">%s</text>`+"\n", margin, escape(title))
	for i, kind := range slices.Sorted(maps.Keys(kinds)) {
		x := margin + 120*i
		fmt.Fprintf(&b, `<circle cx="%d" cy="50" r="6" fill="%s"/><text x="%d" y="54" fill="#444">%s</text>`+"\n",
			x+6, colour(kind), x+18, escape(kind))
	}
	if len(g.Entities) == 0 {
		fmt.Fprintf(&b, `<text x="%d" y="90" fill="#777">nothing to draw</text>`+"\n", margin)
	}
	fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", margin-d.min.x, int64(margin+header)-d.min.y)
	d.relations(&b)
	d.entities(&b)
	b.WriteString("</g>\n</svg>\n")
	return []byte(b.String())
}

// drawing is a graph with its places in pixels.
type drawing struct {
	graph    graph.Graph
	places   []point
	radius   []int64
	at       map[string]int
	min, max point
}

func newDrawing(g graph.Graph) drawing {
	d := drawing{graph: g, at: map[string]int{}, radius: make([]int64, len(g.Entities))}
	heaviest := 1
	for _, e := range g.Entities {
		heaviest = max(heaviest, e.Weight)
	}
	boxes := make([]box, len(g.Entities))
	for i, e := range g.Entities {
		d.at[e.ID] = i
		d.radius[i] = 6 + root(int64(max(e.Weight, 0))*256/int64(heaviest))
		width := int64(utf8.RuneCountInString(label(e))) * 7 / 2
		boxes[i] = box{w: (max(width, d.radius[i]) + 6) * scale, h: (d.radius[i] + 12) * scale}
	}
	d.places = arrange(g, boxes)
	for i := range d.places {
		d.places[i] = point{d.places[i].x / scale, d.places[i].y / scale}
		half := point{boxes[i].w / scale, boxes[i].h / scale}
		if i == 0 {
			d.min, d.max = d.places[i], d.places[i]
		}
		d.min = point{min(d.min.x, d.places[i].x-half.x), min(d.min.y, d.places[i].y-half.y)}
		d.max = point{max(d.max.x, d.places[i].x+half.x), max(d.max.y, d.places[i].y+half.y)}
	}
	return d
}

func (d drawing) relations(b *strings.Builder) {
	for _, r := range d.graph.Relations {
		from, to := d.places[d.at[r.From]], d.places[d.at[r.To]]
		fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="%d" stroke-opacity="0.35"><title>%s</title></line>`+"\n",
			from.x, from.y, to.x, to.y, stroke(r.Kind), 1+min(r.Weight/4, 4), escape(r.From+" "+r.Kind+" "+r.To))
	}
}

func (d drawing) entities(b *strings.Builder) {
	for i, e := range d.graph.Entities {
		p, r := d.places[i], d.radius[i]
		fmt.Fprintf(b, `<circle cx="%d" cy="%d" r="%d" fill="%s" stroke="#fff"><title>%s</title></circle>`+"\n",
			p.x, p.y, r, colour(e.Kind), escape(e.ID))
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" fill="#222" stroke="#fbfbf9" stroke-width="3" paint-order="stroke">%s</text>`+"\n",
			p.x, p.y+r+11, escape(label(e)))
	}
}

func label(e graph.Entity) string {
	if runes := []rune(e.Name); len(runes) > labelRunes {
		return "…" + string(runes[len(runes)-labelRunes+1:])
	}
	return e.Name
}

func colour(kind string) string {
	switch kind {
	case "package", "module":
		return "#2f6fab"
	case "type":
		return "#2a9d72"
	case "func", "definition":
		return "#8fb339"
	case "document":
		return "#c8553d"
	case "name":
		return "#8e5ea2"
	case "term":
		return "#e0a030"
	}
	return "#8a8f98"
}

func stroke(kind string) string {
	switch kind {
	case "describes", "mentions":
		return "#c8553d"
	case "cooccurs":
		return "#e0a030"
	}
	return "#51606e"
}

// escape makes text safe within XML; what XML does not allow becomes U+FFFD.
func escape(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return ""
	}
	return b.String()
}
