package canvas

import (
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Draft draws a plan that does not run yet, and returns the faults of its ids and dependencies.
func Draft(p *events.Plan) (*verb.Picture, events.Faults) {
	var faults events.Faults
	known := map[string]bool{}
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		if known[s.ID] {
			faults = append(faults, events.Fault{Code: events.CodeDuplicateID, Field: fmt.Sprintf("subjobs[%d].id", i), Message: "two steps are called " + s.ID, Hint: "give each an id of its own"})
		}
		known[s.ID] = true
	}
	g := drawing.Graph{}
	edges := 0
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		node := drawing.Node{ID: s.ID, Title: s.Title, Expert: s.Expert, Dependencies: s.Dependencies}
		if s.ExpertName != "" {
			node.Expert = s.ExpertName
		}
		before := map[string]bool{}
		for k, id := range s.Dependencies {
			if !known[id] {
				faults = append(faults, events.Fault{Code: events.CodeDangling, Field: fmt.Sprintf("subjobs[%d].dependencies[%d]", i, k), Message: s.ID + " depends on " + id + ", which is not in the plan", Hint: "name a step of the plan"})
			} else if !before[id] {
				before[id] = true
				edges++
			}
		}
		g.Nodes = append(g.Nodes, node)
	}
	layout := drawing.Arrange(g, nil)
	if len(layout.Edges) < edges && len(faults) == 0 {
		faults = append(faults, events.Fault{Code: events.CodeCycle, Field: "subjobs", Message: "some steps depend on themselves by way of others", Hint: "take one of these dependencies out"})
	}
	picture := pictureOf(g, layout)
	for i := range picture.SubJobs {
		picture.SubJobs[i].Version = 1
	}
	picture.PlanVersion = 1
	return picture, faults
}

// pictureOf returns a layout in the form of the API.
func pictureOf(g drawing.Graph, layout drawing.Layout) *verb.Picture {
	p := &verb.Picture{Width: layout.Width, Height: layout.Height, SubJobs: make([]verb.PictureBox, len(g.Nodes)), Edges: make([][]int, len(layout.Edges))}
	labels := groups(g, layout)
	for i, at := range layout.Places {
		n := &g.Nodes[i]
		p.SubJobs[i] = verb.PictureBox{ID: n.ID, Title: n.Title, Expert: n.Expert, Box: verb.Box{X: at.X, Y: at.Y, W: at.Width, H: at.Height, Rank: at.Rank, Group: labels[i]}}
	}
	for i, e := range layout.Edges {
		p.Edges[i] = append([]int{e.From, e.To}, e.Via...)
	}
	return p
}
