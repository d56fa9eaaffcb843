package drawing

import (
	"cmp"
	"math"
	"slices"
)

// maxBends limits the bends of long edges; beyond it edges are straight, so that a dense graph of thousands of nodes stays
// cheap.
const maxBends = 20_000

// spot is a place in the layout: a node, or a bend of an edge that spans several layers.
type spot struct {
	node  int // position in Graph.Nodes, -1 for a bend
	layer int
	order int // place within the layer
	preds []int
	succs []int
	// weight is the preferred position according to the neighbours, while a layer is sorted.
	weight float64
}

// layout is a graph in layers. Edges connect adjacent layers, except those beyond maxBends and those that cross a wide layer.
type layout struct {
	spots  []spot
	layers [][]int // positions in spots, in order
	// columns is the number of nodes in a row, for each layer that is wrapped into rows; 0 otherwise.
	columns []int
}

// arrange computes the layout. A layer of more nodes than most is wrapped; 0 wraps none. A cycle is broken by leaving out the
// edge that closes it.
func arrange(g Graph, most int) layout {
	succs := g.edges()
	depth := depths(succs)
	l := layout{spots: make([]spot, len(g.Nodes)), columns: columns(depth, most)}
	for i := range g.Nodes {
		l.spots[i] = spot{node: i, layer: depth[i]}
	}
	for from, list := range succs {
		for _, to := range list {
			if depth[to] > depth[from] {
				l.connect(from, to)
			}
		}
	}
	for i := range l.spots {
		s := &l.spots[i]
		for len(l.layers) <= s.layer {
			l.layers = append(l.layers, nil)
		}
		s.order = len(l.layers[s.layer])
		l.layers[s.layer] = append(l.layers[s.layer], i)
	}
	l.uncross()
	return l
}

// columns decides which layers are wrapped, into about twice as many columns as rows.
func columns(depth []int, most int) []int {
	var list []int
	for _, d := range depth {
		for len(list) <= d {
			list = append(list, 0)
		}
		list[d]++
	}
	for i, n := range list {
		list[i] = 0
		if most > 0 && n > most {
			list[i] = max(most, int(math.Sqrt(float64(n)*0.6)))
		}
	}
	return list
}

// depths returns the length of the longest path to each node, without recursion.
func depths(succs [][]int) []int {
	waiting := make([]int, len(succs))
	for _, list := range succs {
		for _, to := range list {
			waiting[to]++
		}
	}
	depth := make([]int, len(succs))
	var ready []int
	for i, n := range waiting {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		for _, to := range succs[i] {
			depth[to] = max(depth[to], depth[i]+1)
			if waiting[to]--; waiting[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	return depth
}

// connect adds an edge, with a bend in each layer that it crosses; one that is wrapped has no room for bends.
func (l *layout) connect(from, to int) {
	last := from
	for layer := l.spots[from].layer + 1; layer < l.spots[to].layer && len(l.spots) < maxBends; layer++ {
		if l.columns[layer] > 0 {
			continue
		}
		l.spots = append(l.spots, spot{node: -1, layer: layer})
		l.join(last, len(l.spots)-1)
		last = len(l.spots) - 1
	}
	l.join(last, to)
}

func (l *layout) join(from, to int) {
	l.spots[from].succs = append(l.spots[from].succs, to)
	l.spots[to].preds = append(l.spots[to].preds, from)
}

// uncross sorts each layer by the median of its neighbours, alternately downwards and upwards.
func (l *layout) uncross() {
	for range 4 {
		for i := 1; i < len(l.layers); i++ {
			l.sort(l.layers[i], func(s *spot) []int { return s.preds })
		}
		for i := len(l.layers) - 2; i >= 0; i-- {
			l.sort(l.layers[i], func(s *spot) []int { return s.succs })
		}
	}
}

func (l *layout) sort(layer []int, neighbours func(*spot) []int) {
	for _, i := range layer {
		s := &l.spots[i]
		s.weight = l.median(neighbours(s), float64(s.order))
	}
	slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(l.spots[a].weight, l.spots[b].weight) })
	for order, i := range layer {
		l.spots[i].order = order
	}
}

func (l *layout) median(neighbours []int, fallback float64) float64 {
	if len(neighbours) == 0 {
		return fallback
	}
	orders := make([]int, len(neighbours))
	for i, n := range neighbours {
		orders[i] = l.spots[n].order
	}
	slices.Sort(orders)
	middle := len(orders) / 2
	if len(orders)%2 == 1 {
		return float64(orders[middle])
	}
	return float64(orders[middle-1]+orders[middle]) / 2
}

// place returns the horizontal middle of every spot, given widths and a gap: each layer is packed, then spots move towards
// their neighbours as far as there is room.
func (l *layout) place(width func(spot) int, gap int) []int {
	x := make([]int, len(l.spots))
	for n, layer := range l.layers {
		l.pack(x, layer, l.columns[n], width, gap)
	}
	for range 8 {
		for i := 1; i < len(l.layers); i++ {
			l.pull(x, l.layers[i], l.columns[i] > 0, width, gap, func(s *spot) []int { return s.preds })
		}
		for i := len(l.layers) - 2; i >= 0; i-- {
			l.pull(x, l.layers[i], l.columns[i] > 0, width, gap, func(s *spot) []int { return s.succs })
		}
	}
	least := 0
	for i, s := range l.spots {
		least = min(least, x[i]-width(s)/2)
	}
	for i := range x {
		x[i] -= least
	}
	return x
}

// pack puts the spots of a layer beside one another from the left, in columns of equal width if it is wrapped.
func (l *layout) pack(x, layer []int, columns int, width func(spot) int, gap int) {
	widest := 0
	for _, i := range layer {
		widest = max(widest, width(l.spots[i]))
	}
	left := 0
	for k, i := range layer {
		w := width(l.spots[i])
		if columns > 0 {
			left, w = k%columns*(widest+gap), widest
		}
		x[i] = left + w/2
		left += w + gap
	}
}

// pull moves the spots of a layer towards the mean of their neighbours, a wrapped layer as a whole. Others are first pushed apart
// from the left; then the layer is moved back to share the overhang.
func (l *layout) pull(x, layer []int, whole bool, width func(spot) int, gap int, neighbours func(*spot) []int) {
	shift, edge := 0, 0
	for k, i := range layer {
		s := &l.spots[i]
		want := x[i]
		if near := neighbours(s); len(near) > 0 {
			sum := 0
			for _, n := range near {
				sum += x[n]
			}
			want = sum / len(near)
		}
		if whole {
			shift += x[i] - want
			continue
		}
		w := width(*s)
		at := want
		if k > 0 {
			at = max(at, edge+gap+w/2)
		}
		shift += at - want
		x[i], edge = at, at+w-w/2
	}
	for _, i := range layer {
		x[i] -= shift / len(layer)
	}
}
