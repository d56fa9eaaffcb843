package drawing_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/drawing"
)

// fan is a graph of a node, n nodes that depend on it, and one that depends on these.
func fan(n int) drawing.Graph {
	g := drawing.Graph{Nodes: []drawing.Node{{ID: "begin"}}}
	end := drawing.Node{ID: "end"}
	for i := range n {
		id := fmt.Sprintf("n%d", i)
		g.Nodes = append(g.Nodes, drawing.Node{ID: id, Dependencies: []string{"begin"}})
		end.Dependencies = append(end.Dependencies, id)
	}
	g.Nodes = append(g.Nodes, end)
	return g
}

// mesh is a graph of n nodes, each of which depends on up to three of the fifty before it.
func mesh(n int) drawing.Graph {
	var g drawing.Graph
	for i := range n {
		node := drawing.Node{ID: fmt.Sprint(i)}
		for _, back := range []int{7, 23, 41} {
			if i >= back {
				node.Dependencies = append(node.Dependencies, fmt.Sprint(i-back))
			}
		}
		g.Nodes = append(g.Nodes, node)
	}
	return g
}

func placesOf(g drawing.Graph, l drawing.Layout) map[string]drawing.Place {
	m := map[string]drawing.Place{}
	for i, p := range l.Places {
		m[g.Nodes[i].ID] = p
	}
	return m
}

// check fails the test if boxes overlap or leave the picture, or if an edge does not run downwards.
func check(t *testing.T, l drawing.Layout) {
	t.Helper()
	rows := map[int][]drawing.Place{}
	for i, p := range l.Places {
		if p.X < 0 || p.Y < 0 || p.X+p.Width > l.Width || p.Y+p.Height > l.Height {
			t.Fatalf("node %d is outside %dx%d: %+v", i, l.Width, l.Height, p)
		}
		rows[p.Y] = append(rows[p.Y], p)
	}
	for _, row := range rows {
		slices.SortFunc(row, func(a, b drawing.Place) int { return a.X - b.X })
		for i := 1; i < len(row); i++ {
			if row[i-1].X+row[i-1].Width > row[i].X {
				t.Fatalf("%+v and %+v overlap", row[i-1], row[i])
			}
		}
	}
	for _, e := range l.Edges {
		if from, to := l.Places[e.From], l.Places[e.To]; from.Y+from.Height > to.Y || from.Rank >= to.Rank {
			t.Fatalf("edge %v runs from %+v up to %+v", e, from, to)
		}
	}
}

func TestEveryNodeHasAPlaceOfItsOwnBelowItsPredecessors(t *testing.T) {
	for name, g := range map[string]drawing.Graph{"diamond": diamond(), "fan": fan(300), "mesh": mesh(400), "none": {}} {
		l := drawing.Arrange(g, nil)
		if len(l.Places) != len(g.Nodes) {
			t.Fatalf("%s: %d places for %d nodes", name, len(l.Places), len(g.Nodes))
		}
		check(t, l)
	}
}

func TestEveryDependencyIsAnEdge(t *testing.T) {
	if l := drawing.Arrange(diamond(), nil); len(l.Edges) != 5 {
		t.Errorf("%v", l.Edges)
	}
	if l := drawing.Arrange(fan(300), nil); len(l.Edges) != 600 {
		t.Errorf("%d edges", len(l.Edges))
	}
}

func TestAWideRankIsWrappedIntoRows(t *testing.T) {
	l := drawing.Arrange(fan(500), nil)
	if l.Width > 18*(176+28) || l.Height > 35*72 {
		t.Errorf("%d x %d", l.Width, l.Height)
	}
	if l.Places[1].Rank != 1 || l.Places[500].Rank != 1 {
		t.Error("rows are not ranks")
	}
}

func TestNodesKeepTheirPlacesWhenAPlanGrows(t *testing.T) {
	for name, c := range map[string]struct{ before, after drawing.Graph }{
		"fan":         {fan(6), fan(9)},
		"wrapped fan": {fan(200), fan(230)},
		"mesh":        {mesh(200), mesh(260)},
		"beginning":   {drawing.Graph{Nodes: diamond().Nodes[:3]}, diamond()},
	} {
		old := placesOf(c.before, drawing.Arrange(c.before, nil))
		l := drawing.Arrange(c.after, old)
		check(t, l)
		at := placesOf(c.after, l)
		for id, was := range old {
			if now := at[id]; now.Rank == was.Rank && now.X != was.X {
				t.Errorf("%s: %s jumped from %d to %d", name, id, was.X, now.X)
			}
		}
	}
}

func TestAnotherPlanIsArrangedOnItsOwn(t *testing.T) {
	old := placesOf(fan(4), drawing.Arrange(fan(4), nil))
	g := mesh(100)
	g.Nodes = append(g.Nodes, drawing.Node{ID: "begin"})
	if got, want := drawing.Arrange(g, old), drawing.Arrange(g, nil); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Error("a plan with one old node is arranged around it")
	}
}

func TestCrossingsAreReduced(t *testing.T) {
	g := drawing.Graph{Nodes: []drawing.Node{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "of c", Dependencies: []string{"c"}}, {ID: "of b", Dependencies: []string{"b"}}, {ID: "of a", Dependencies: []string{"a"}}}}
	at := placesOf(g, drawing.Arrange(g, nil))
	order := func(x, y string) bool { return at[x].X < at[y].X }
	if order("a", "b") != order("of a", "of b") || order("b", "c") != order("of b", "of c") {
		t.Errorf("edges cross: %v", at)
	}
}

func BenchmarkArrange(b *testing.B) {
	for name, g := range map[string]drawing.Graph{"fan": fan(10_000), "mesh": mesh(10_000)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				drawing.Arrange(g, nil)
			}
		})
		old := placesOf(g, drawing.Arrange(g, nil))
		g.Nodes = append(g.Nodes, drawing.Node{ID: "more", Dependencies: []string{g.Nodes[len(g.Nodes)-1].ID}})
		b.Run(name+" grown", func(b *testing.B) {
			for b.Loop() {
				drawing.Arrange(g, old)
			}
		})
	}
}
