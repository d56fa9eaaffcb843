package canvas

import (
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// The states in which a picture shows a SubJob.
const (
	Planned  = "planned"
	Ready    = "ready"
	Running  = "running"
	Waiting  = "waiting"
	Finished = "finished"
	Failed   = "failed"
	Stopped  = "stopped"
	Skipped  = "skipped"
	Replaced = "replaced"
)

// State returns the state in which a picture shows a SubJob.
func State(n *graph.SubJobState) string {
	switch n.Status {
	case events.Ready:
		return Ready
	case events.Running:
		return Running
	case events.Waiting:
		return Waiting
	case events.Finished:
		if n.Skipped {
			return Skipped
		}
		return Finished
	case events.Failed:
		return Failed
	case events.Stopped:
		return Stopped
	case events.Legacy:
		return Replaced
	}
	return Planned
}

// fact is what the history keeps of an event of the log: its time is in milliseconds after the beginning of the job.
type fact struct {
	seq  uint64
	ms   int64
	kind events.Kind
}

// move is a change of the state of a SubJob, which is given by its position in ids.
type move struct {
	seq   uint64
	at    int
	state string
	run   int
}

// shift is a change of the job's status.
type shift struct {
	seq    uint64
	status events.Status
}

// subjob is what a picture shows of a SubJob besides its state in the core.
type subjob struct {
	state    string
	run      int
	changed  uint64 // The last event that changed the picture of it.
	ready    time.Time
	spent    events.Spent
	version  int // The version of the graph that added it.
	gone     int // The version that removed it, 0 for none.
	owner    string
	progress *events.SubJobProgressed
	files    int
	runs     map[int]int // Positions in Canvas.runs.
}

// Canvas follows the log of one job. The zero value has seen nothing.
type Canvas struct {
	job      *graph.Job
	created  time.Time
	user     string
	now      events.Event // The last event, without its data.
	facts    []fact
	moves    []move
	shifts   []shift
	ids      []string
	places   map[string]int // Indexes into ids and subjobs, by id.
	subjobs  []subjob
	runs     []verb.RunLine
	pictures []verb.Picture
	versions []verb.PlanVersion
	boxes    map[string]drawing.Place // The places in the latest picture.
}

// Seq returns the last event that was taken, 0 before the first.
func (c *Canvas) Seq() uint64 { return c.now.Seq }

// Take adds the next event of the log, with its plan resolved. Errors: those of joblog.Step.
func (c *Canvas) Take(e *events.Event) error {
	job, _, err := joblog.Step(c.job, e)
	if err != nil {
		return err
	}
	if c.job == nil {
		c.created, c.places = e.Time, map[string]int{}
		if first, ok := e.Data.(*events.JobRequested); ok {
			c.user = first.Request.User
		}
	}
	c.job = job
	c.now = events.Event{Seq: e.Seq, Time: e.Time, Kind: e.Kind}
	c.facts = append(c.facts, fact{e.Seq, c.since(e.Time), e.Kind})
	c.worked(e)
	for _, t := range job.Transitions() {
		c.moved(t.SubJob)
	}
	for _, id := range []string{events.PlanID, events.FinalID, e.SubJob} { // Their runs change even without a transition.
		if job.SubJob(id) != nil {
			c.moved(id)
		}
	}
	if len(c.shifts) == 0 || c.shifts[len(c.shifts)-1].status != job.Status {
		c.shifts = append(c.shifts, shift{e.Seq, job.Status})
	}
	if n := len(c.versions); job.PlanVersion > 0 && (n == 0 || c.versions[n-1].Version != job.PlanVersion) {
		c.picture(e)
	}
	return nil
}

// since returns a time in milliseconds after the beginning of the job.
func (c *Canvas) since(t time.Time) int64 { return t.Sub(c.created).Milliseconds() }

// of returns the record of a SubJob; it stays valid until the next new one.
func (c *Canvas) of(id string) *subjob {
	at, ok := c.places[id]
	if !ok {
		at = len(c.ids)
		c.places[id] = at
		c.ids = append(c.ids, id)
		c.subjobs = append(c.subjobs, subjob{state: Planned, runs: map[int]int{}})
	}
	return &c.subjobs[at]
}

// moved records the present state of a SubJob if it has changed.
func (c *Canvas) moved(id string) {
	n := c.job.SubJob(id)
	s := c.of(id)
	state := State(n)
	if s.state == state && s.run == n.Run {
		return
	}
	s.state, s.run, s.changed = state, n.Run, c.now.Seq
	if n.Run > 0 {
		c.queued(id, n.Run)
	}
	if state == Ready {
		s.ready = c.now.Time
	}
	c.moves = append(c.moves, move{c.now.Seq, c.places[id], state, n.Run})
}

// picture lays out a new version of the graph.
func (c *Canvas) picture(e *events.Event) {
	version := c.job.PlanVersion
	g := drawing.Graph{}
	v := verb.PlanVersion{Version: version, Seq: e.Seq, Time: e.Time, By: by(e)}
	view := c.job.View()
	for _, n := range view.SubJobs {
		if !joblog.InGraph(n) {
			continue
		}
		node := drawing.Node{ID: n.ID, Title: n.Title, Expert: n.Expert}
		for _, at := range n.Deps {
			node.Dependencies = append(node.Dependencies, view.SubJobs[at].ID)
		}
		g.Nodes = append(g.Nodes, node)
		if s := c.of(n.ID); s.version == 0 || s.gone > 0 {
			s.version, s.gone = version, 0
			v.Added = append(v.Added, n.ID)
		}
	}
	layout := drawing.Arrange(g, c.boxes)
	p := pictureOf(g, layout)
	p.Seq, p.PlanVersion, v.Total = e.Seq, version, len(g.Nodes)
	c.boxes = make(map[string]drawing.Place, len(g.Nodes))
	for i, at := range layout.Places {
		c.boxes[g.Nodes[i].ID] = at
		p.SubJobs[i].Version = c.of(g.Nodes[i].ID).version
	}
	for i, id := range c.ids {
		if s := &c.subjobs[i]; s.version > 0 && s.gone == 0 && !inPicture(c.boxes, id) {
			s.gone = version
			v.Removed = append(v.Removed, id)
		}
	}
	if len(c.versions) == 0 {
		v.Added = nil
	}
	c.pictures, c.versions = append(c.pictures, *p), append(c.versions, v)
}

func inPicture(boxes map[string]drawing.Place, id string) bool {
	_, ok := boxes[id]
	return ok
}

// by returns who made a version of the graph.
func by(e *events.Event) string {
	if edit, ok := e.Data.(*events.PlanEdited); ok {
		return edit.By
	}
	return "planner"
}

// leastGroup is the least number of similar SubJobs that form a group.
const leastGroup = 8

// groups labels the nodes that can be shown as one: the parts of a split SubJob, and many nodes of one expert between the same others.
func groups(g drawing.Graph, l drawing.Layout) []string {
	neighbours := make([][]int, len(g.Nodes))
	for _, e := range l.Edges {
		neighbours[e.From] = append(neighbours[e.From], e.To)
		neighbours[e.To] = append(neighbours[e.To], -1-e.From)
	}
	labels := make([]string, len(g.Nodes))
	alike := map[string][]int{}
	for i, n := range g.Nodes {
		if split, _, ok := strings.Cut(n.ID, "~"); ok && split != "" {
			labels[i] = split
			continue
		}
		slices.Sort(neighbours[i])
		key := append([]byte(n.Expert), 0)
		for _, at := range neighbours[i] {
			key = append(key, byte(at), byte(at>>8), byte(at>>16), byte(at>>24))
		}
		alike[string(key)] = append(alike[string(key)], i)
	}
	for _, list := range alike { // any order: each node is in one list.
		if len(list) < leastGroup || len(neighbours[list[0]]) == 0 {
			continue
		}
		first := g.Nodes[list[0]]
		label := first.Expert
		if label == "" {
			label = "like"
		}
		for _, i := range list {
			labels[i] = label + " " + first.ID
		}
	}
	return labels
}
