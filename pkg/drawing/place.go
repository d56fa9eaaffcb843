package drawing

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// The sizes of boxes and gaps in pixels.
const (
	boxHeight = 52
	boxLeast  = 176
	boxMost   = 240
	letter    = 7
	levelGap  = 56
	rowGap    = 20
	boxGap    = 28
	bendWidth = 8
)

// maxRow is how many nodes without a path between them stand in one row; more are wrapped into several.
const maxRow = 16

// Layout is a graph with places, in pixels from the top left. Nodes that depend on others stand below them.
type Layout struct {
	Width, Height int
	// Places are those of the nodes, in their order.
	Places []Place
	// Edges run from a node to a successor.
	Edges []Edge
}

// Place is the box of a node. Rank is the length of the longest path to it.
type Place struct {
	X, Y, Width, Height int
	Rank                int
}

// Edge is a dependency: positions of two nodes, and the points between them through which it runs, as X and Y in turn.
type Edge struct {
	From, To int
	Via      []int
}

// Arrange gives every node a place. before holds the places that nodes had in an earlier version of the graph, by id: a node that
// still has its rank keeps its column, so that a picture does not jump while a plan grows. Without before, or if most nodes are
// new, it reduces crossings instead. Apart from sorting, its time is linear in nodes and edges.
func Arrange(g Graph, before map[string]Place) Layout {
	g = g.legible()
	l := arrange(g, maxRow)
	p := placing{layout: l, width: func(s spot) int { return boxWidth(g, s) }, x: make([]int, len(l.spots)), row: make([]int, len(l.spots))}
	if kept := p.kept(g, before); kept*2 >= len(g.Nodes) && kept > 0 {
		p.extend(g, before)
	} else {
		p.x = l.place(p.width, boxGap)
		for n, layer := range l.layers {
			for k, i := range layer {
				if l.columns[n] > 0 {
					p.row[i] = k / l.columns[n]
				}
			}
		}
	}
	return p.result(g)
}

func boxWidth(g Graph, s spot) int {
	if s.node < 0 {
		return bendWidth
	}
	n := g.Nodes[s.node]
	letters := max(utf8.RuneCountInString(n.label()), utf8.RuneCountInString(n.Expert))
	return min(max(letters*(letter+1)+48, boxLeast), boxMost)
}

// placing is a layout whose spots are being placed.
type placing struct {
	layout
	width func(spot) int
	// x is the horizontal middle of each spot, row its row within the layer.
	x, row []int
}

// kept counts the nodes that had a place in the same rank before.
func (p *placing) kept(g Graph, before map[string]Place) (n int) {
	for i := range g.Nodes {
		if old, ok := before[g.Nodes[i].ID]; ok && old.Rank == p.spots[i].layer {
			n++
		}
	}
	return n
}

// extend leaves nodes where they were and puts the others into the free places nearest to their predecessors.
func (p *placing) extend(g Graph, before map[string]Place) {
	tops := map[int]int{}        // The least earlier Y of each rank.
	for _, old := range before { // any order: it takes the minimum.
		if top, ok := tops[old.Rank]; !ok || old.Y < top {
			tops[old.Rank] = old.Y
		}
	}
	for n, layer := range p.layers {
		var rows rows
		var fresh []int
		for _, i := range layer {
			if s := p.spots[i]; s.node >= 0 {
				if old, ok := before[g.Nodes[s.node].ID]; ok && old.Rank == n {
					p.x[i], p.row[i] = old.X+old.Width/2, (old.Y-tops[n])/(boxHeight+rowGap)
					rows.take(p.row[i], span{old.X, old.X + old.Width})
					continue
				}
			}
			fresh = append(fresh, i)
		}
		most := max(p.columns[n], maxRow)
		for _, i := range fresh {
			p.x[i], p.row[i] = rows.fit(p.wanted(i), p.width(p.spots[i]), most)
		}
	}
}

// wanted returns the column that the predecessors of a spot prefer.
func (p *placing) wanted(i int) int {
	preds := p.spots[i].preds
	if len(preds) == 0 {
		return 0
	}
	sum := 0
	for _, from := range preds {
		sum += p.x[from]
	}
	return sum / len(preds)
}

// span is the part of a row that a box takes.
type span struct{ from, to int }

// rows are the rows of a layer, each with the spans that boxes take, from left to right.
type rows [][]span

// take occupies a span.
func (r *rows) take(row int, s span) {
	for len(*r) <= row {
		*r = append(*r, nil)
	}
	at, _ := slices.BinarySearchFunc((*r)[row], s, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	(*r)[row] = slices.Insert((*r)[row], at, s)
}

// near is how many gaps on either side are tried for a new box before it goes to the end of its row.
const near = 32

// fit finds a place for a box near a column and right of 0, in the last row or a new one, and occupies it. It returns the middle
// and the row.
func (r *rows) fit(want, width, most int) (x, row int) {
	row = max(0, len(*r)-1)
	if len(*r) > 0 && len((*r)[row]) >= most {
		row++
	}
	for len(*r) <= row {
		*r = append(*r, nil)
	}
	list := (*r)[row]
	from := want - width/2
	at, _ := slices.BinarySearchFunc(list, from, func(s span, x int) int { return cmp.Compare(s.from, x) })
	best, found := 0, false
	for gap := max(0, at-near); gap <= min(len(list), at+near); gap++ {
		low, high := 0, max(from, 0)
		if gap > 0 {
			low = list[gap-1].to + boxGap
			high = max(from, low)
		}
		if gap < len(list) {
			high = list[gap].from - boxGap - width
		}
		if x := min(max(from, low), high); low <= high && (!found || distance(x, from) < distance(best, from)) {
			best, found = x, true
		}
	}
	if !found {
		best = list[len(list)-1].to + boxGap
	}
	r.take(row, span{best, best + width})
	return best + width/2, row
}

func distance(a, b int) int { return max(a-b, b-a) }

// result returns the places, moved so that none is left of the margin.
func (p *placing) result(g Graph) Layout {
	out := Layout{Places: make([]Place, len(g.Nodes))}
	left := 0
	tops := make([]int, len(p.layers)+1)
	for n, layer := range p.layers {
		high := 1
		for _, i := range layer {
			left, high = min(left, p.x[i]-p.width(p.spots[i])/2), max(high, p.row[i]+1)
		}
		tops[n+1] = tops[n] + high*(boxHeight+rowGap) - rowGap + levelGap
	}
	for i, s := range p.spots[:len(g.Nodes)] {
		w := p.width(s)
		at := Place{X: p.x[i] - left - w/2, Y: tops[s.layer] + p.row[i]*(boxHeight+rowGap), Width: w, Height: boxHeight, Rank: s.layer}
		out.Places[i] = at
		out.Width = max(out.Width, at.X+w)
	}
	if len(p.layers) > 0 {
		out.Height = tops[len(p.layers)] - levelGap
	}
	for from := range g.Nodes {
		for _, next := range p.spots[from].succs {
			e := Edge{From: from}
			for p.spots[next].node < 0 {
				s := p.spots[next]
				e.Via = append(e.Via, p.x[next]-left, tops[s.layer]+p.row[next]*(boxHeight+rowGap)+boxHeight/2)
				next = s.succs[0]
			}
			e.To = next
			out.Edges = append(out.Edges, e)
		}
	}
	return out
}
