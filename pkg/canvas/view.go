package canvas

import (
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// maxReason is how much of a reason a picture shows, in bytes.
const maxReason = 300

// Since returns what Graph returns, reduced to what has changed since an event. If the version of the graph has changed
// since, it returns the whole graph.
func (c *Canvas) Since(seq uint64) verb.Graph {
	g := c.Graph()
	if n := len(c.versions); n == 0 || c.versions[n-1].Seq > seq || seq > c.now.Seq {
		return g
	}
	old := func(n verb.Node) bool { return c.of(n.ID).changed <= seq }
	g.Partial, g.Edges, g.Versions = true, nil, nil
	g.SubJobs, g.Replaced = slices.DeleteFunc(g.SubJobs, old), slices.DeleteFunc(g.Replaced, old)
	return g
}

// Graph returns the graph after the last event that was taken. It leaves Head to the caller, who may change everything except
// the edges.
func (c *Canvas) Graph() verb.Graph {
	view := c.job.View()
	g := verb.Graph{
		JobID: view.ID, Status: view.Status, PlanVersion: view.PlanVersion, SubJobs: []verb.Node{}, Title: view.Title, Goal: view.Goal, User: c.user,
		Seq: c.now.Seq, Time: c.now.Time, Created: c.created, Ended: view.Ended, Edges: [][]int{}, Counts: map[string]int{},
		Cost: &verb.Cost{Tokens: view.Cost.Tokens, CostUSD: view.Cost.CostUSD}, Versions: slices.Clone(c.versions),
	}
	for _, s := range []string{Planned, Ready, Running, Waiting, Finished, Failed, Stopped, Skipped, Replaced} {
		g.Counts[s] = 0
	}
	boxes := map[string]*verb.Box{}
	if len(c.pictures) > 0 {
		p := &c.pictures[len(c.pictures)-1]
		g.Width, g.Height, g.Edges = p.Width, p.Height, p.Edges
		for i := range p.SubJobs {
			boxes[p.SubJobs[i].ID] = &p.SubJobs[i].Box
		}
	}
	for _, n := range view.SubJobs {
		node := c.node(view, n)
		switch {
		case n.ID == events.PlanID:
			g.Planning = &node
			continue
		case n.ID == events.FinalID:
			g.Finalizing = &node
			continue
		case !joblog.InGraph(n):
			g.Replaced = append(g.Replaced, node)
		default:
			box := *boxes[n.ID]
			node.Box = &box
			g.SubJobs = append(g.SubJobs, node)
		}
		g.Counts[node.State]++
	}
	for _, in := range view.Inputs {
		if in.Closing == "" && in.Kind != events.InputTimer {
			g.Questions = append(g.Questions, verb.OpenQuestion{Request: in.Request, SubJob: in.SubJob, Kind: in.Kind, User: in.User, Expires: in.Expires})
		}
	}
	return g
}

// node describes a SubJob without its place.
func (c *Canvas) node(view *graph.State, n *graph.SubJobState) verb.Node {
	s := c.of(n.ID)
	node := verb.Node{
		ID: n.ID, Status: n.Status, State: State(n), Title: n.Title, Expert: n.Expert, Pool: n.Pool, Run: n.Run, Version: s.version, ReplacedIn: s.gone,
		Owner: s.owner, Ready: s.ready, Started: n.Started, Ended: n.Ended, Spent: s.spent, Lessons: len(n.Lessons), Artifacts: s.files,
		Request: n.Request, WaitUntil: n.RetryAt, Progress: s.progress,
	}
	if n.Run > 0 {
		node.Attempt, node.Attempts = n.Attempt()
	}
	switch {
	case n.Error != nil:
		node.Reason = clip.Text(n.Error.Message, maxReason)
	case n.Skipped:
		node.Reason = "its condition does not hold, or all its predecessors were skipped"
	}
	for _, at := range n.Deps {
		node.Deps = append(node.Deps, view.SubJobs[at].ID)
	}
	for _, at := range n.ReplacedBy {
		node.ReplacedBy = append(node.ReplacedBy, view.SubJobs[at].ID)
	}
	return node
}

// Timeline returns the history of the graph up to the last event that was taken. It shares its pictures with the canvas and must
// not be changed.
func (c *Canvas) Timeline() verb.Timeline {
	view := &c.job.State
	t := verb.Timeline{
		JobID: view.ID, Status: view.Status, Title: view.Title, Goal: view.Goal, Seq: c.now.Seq, Time: c.now.Time, Created: c.created, Ended: view.Ended,
		IDs: slices.Clone(c.ids), Events: make([][]any, 0, len(c.facts)), Layouts: slices.Clone(c.pictures), Moves: make([][]any, 0, len(c.moves)),
		StatusMoves: [][]any{}, Runs: slices.Clone(c.runs),
	}
	if t.Layouts == nil {
		t.Layouts = []verb.Picture{}
	}
	if t.Runs == nil {
		t.Runs = []verb.RunLine{}
	}
	for _, f := range c.facts {
		t.Events = append(t.Events, []any{f.seq, f.ms, f.kind})
	}
	for _, m := range c.moves {
		t.Moves = append(t.Moves, []any{m.seq, m.at, m.state, m.run})
	}
	for _, s := range c.shifts {
		t.StatusMoves = append(t.StatusMoves, []any{s.seq, s.status})
	}
	return t
}
