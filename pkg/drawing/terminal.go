package drawing

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Mark returns the symbol of a status in a terminal.
func Mark(status string) string {
	switch status {
	case "FINISHED":
		return "✔"
	case "FAILED":
		return "✘"
	case "STOPPED":
		return "■"
	case "RUNNING", "PLANNING", "FINALIZING":
		return "▶"
	case "READY":
		return "▷"
	case "WAITING":
		return "…"
	case "LEGACY":
		return "◌"
	case "SKIPPED":
		return "⤼"
	}
	return "·"
}

// Directions in which a line leaves a cell, as bits.
const (
	north = 1 << iota
	south
	west
	east
)

// strokes holds the character for each set of directions.
const strokes = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"

// canvas is rows of cells: directions, or a character that covers them.
type canvas struct {
	lines   [][]int
	letters map[[2]int]rune
}

// terminal draws boxes in layers with lines between them; a graph wider than the terminal becomes a list.
func terminal(g Graph, width int) string {
	l := arrange(g, 0)
	labels := make([]string, len(g.Nodes))
	for i, n := range g.Nodes {
		labels[i] = fmt.Sprintf("[%s %s]", Mark(n.Status), cut(n.ID, 40))
	}
	x := l.place(func(s spot) int {
		if s.node < 0 {
			return 1
		}
		return utf8.RuneCountInString(labels[s.node])
	}, 2)
	right := 0
	for i, s := range l.spots {
		if s.node >= 0 {
			right = max(right, x[i]+utf8.RuneCountInString(labels[s.node])/2+1)
		}
	}
	var b strings.Builder
	if g.Title != "" {
		b.WriteString(g.Title + "\n\n")
	}
	if width > 0 && right > width || len(l.spots) >= maxBends {
		b.WriteString(list(g, l))
		return b.String()
	}
	c := canvas{letters: map[[2]int]rune{}}
	row := 0
	for i, layer := range l.layers {
		c.boxes(l, layer, row, x, labels)
		if i+1 < len(l.layers) {
			row = c.wires(l, layer, row, x)
		}
	}
	b.WriteString(c.String())
	return b.String()
}

func (c *canvas) boxes(l layout, layer []int, row int, x []int, labels []string) {
	for _, i := range layer {
		s := l.spots[i]
		if s.node < 0 {
			c.add(row, x[i], north|south)
			continue
		}
		at := x[i] - utf8.RuneCountInString(labels[s.node])/2
		for _, r := range labels[s.node] {
			c.add(row, at, 0)
			c.letters[[2]int{row, at}] = r
			at++
		}
	}
}

// wires draws the edges below a layer and returns the row of the next one. Each spot has a horizontal channel, shared only with
// spots whose lines do not cross its own.
func (c *canvas) wires(l layout, layer []int, row int, x []int) int {
	var taken [][][2]int // per channel, the columns in use
	channel := map[int]int{}
	for _, i := range layer {
		if len(l.spots[i].succs) == 0 {
			continue
		}
		lo, hi := x[i], x[i]
		for _, j := range l.spots[i].succs {
			lo, hi = min(lo, x[j]), max(hi, x[j])
		}
		free := slices.IndexFunc(taken, func(used [][2]int) bool {
			return !slices.ContainsFunc(used, func(u [2]int) bool { return lo <= u[1] && u[0] <= hi })
		})
		if free < 0 {
			free = len(taken)
			taken = append(taken, nil)
		}
		taken[free] = append(taken[free], [2]int{lo, hi})
		channel[i] = free
	}
	next := row + len(taken) + 2
	for _, i := range layer {
		for _, j := range l.spots[i].succs {
			c.wire(row, row+1+channel[i], next, x[i], x[j])
		}
	}
	return next
}

// wire draws a line from (row, from) down to turn, sideways, and down to (next, to).
func (c *canvas) wire(row, turn, next, from, to int) {
	for r := row + 1; r < turn; r++ {
		c.add(r, from, north|south)
	}
	if from == to {
		c.add(turn, from, north|south)
	} else {
		c.add(turn, from, north|toward(from, to))
		for at := min(from, to) + 1; at < max(from, to); at++ {
			c.add(turn, at, west|east)
		}
		c.add(turn, to, south|toward(to, from))
	}
	for r := turn + 1; r < next; r++ {
		c.add(r, to, north|south)
	}
}

func toward(from, to int) int {
	if to > from {
		return east
	}
	return west
}

func (c *canvas) add(row, column, directions int) {
	for len(c.lines) <= row {
		c.lines = append(c.lines, nil)
	}
	for len(c.lines[row]) <= column {
		c.lines[row] = append(c.lines[row], 0)
	}
	c.lines[row][column] |= directions
}

func (c *canvas) String() string {
	signs := []rune(strokes)
	var b strings.Builder
	for row, line := range c.lines {
		text := make([]rune, len(line))
		for column, directions := range line {
			text[column] = signs[directions]
			if r, ok := c.letters[[2]int{row, column}]; ok {
				text[column] = r
			}
		}
		b.WriteString(strings.TrimRight(string(text), " ") + "\n")
	}
	return b.String()
}

// list lists each node with its predecessors, in the order of the layers.
func list(g Graph, l layout) string {
	var b strings.Builder
	for depth, layer := range l.layers {
		for _, i := range layer {
			if l.spots[i].node < 0 {
				continue
			}
			n := g.Nodes[l.spots[i].node]
			fmt.Fprintf(&b, "%3d %s %s", depth+1, Mark(n.Status), n.ID)
			if len(n.Dependencies) > 0 {
				b.WriteString(" ← " + cut(strings.Join(n.Dependencies, ", "), 100))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
