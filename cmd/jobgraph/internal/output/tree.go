package output

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Tree formats a job as lines: a heading with progress, then one line per SubJob, indented by its depth in the graph. If
// there is not enough room, it prefers running ones, then failed, waiting and ready ones, then the latest to end; a last
// line counts the rest.
type Tree struct {
	// Now is the time up to which running SubJobs have lasted.
	Now time.Time
	// Paint colours the lines, or leaves them plain.
	Paint Paint
	// Width limits the columns of each line, Height the number of lines; 0 means no limit.
	Width, Height int
	// Legacy includes replaced versions of SubJobs.
	Legacy bool
	// Whole breaks notices that are too long for a line into several, instead of cutting them.
	Whole bool
}

// Lines formats the state of a job, one line per row of the tree.
func (t Tree) Lines(s *graph.State) []string {
	lines := []string{t.heading(s)}
	for _, line := range t.notices(s) {
		line = "  " + line
		if t.Whole {
			line = Wrap(line, t.Width)
		}
		for part := range strings.SplitSeq(line, "\n") {
			lines = append(lines, fit([]piece{{part, t.Paint.Dim}}, t.Width))
		}
	}
	if t.Height > 0 {
		t.Height = max(2, t.Height-len(lines)+1)
	}
	shown, left := t.choose(s)
	depth := make([]int, len(s.SubJobs))
	if len(left) == 0 {
		depth = depths(s)
	}
	widest, expert := 0, 0
	for _, i := range shown {
		n := s.SubJobs[i]
		widest = max(widest, drawing.Width(t.name(n, depth[i])))
		expert = max(expert, drawing.Width(expertOf(n)))
	}
	widest, expert = t.columns(widest, expert)
	for _, i := range shown {
		lines = append(lines, t.line(s.SubJobs[i], depth[i], widest, expert))
	}
	if len(left) > 0 {
		lines = append(lines, fit([]piece{{"  " + rest(s, left), t.Paint.Dim}}, t.Width))
	}
	return lines
}

// notices returns the lines of the plan's notices, on a terminal as many as fit a quarter of its height. The full text is in the
// description of the job.
func (t Tree) notices(s *graph.State) []string {
	lines := Notices(s.Notices)
	if t.Legacy {
		return nil // A description shows them separately.
	}
	if most := t.Height / 4; t.Height > 0 && len(lines) > most {
		lines = lines[:most]
	}
	return lines
}

// columns returns the widths of names and experts, which share what mark, duration and gaps leave of a line.
func (t Tree) columns(widest, expert int) (name, of int) {
	name, of = min(widest, mostName), min(expert, mostExpert)
	if t.Width == 0 {
		return name, of
	}
	room := max(t.Width-4-2-8, 1) // Less the mark, a gap, and the duration with its gap.
	if name+of <= room {
		return name, of
	}
	of = min(of, room/3)
	if of < 4 {
		of = 0
	}
	return min(name, room-of), of
}

// The maximum widths of columns.
const (
	mostName   = 56
	mostExpert = 24
)

func expertOf(n *graph.SubJobState) string { return drawing.OneLine(drawing.Cut(n.Expert, mostExpert)) }

// rest counts the SubJobs that are not shown, by status.
func rest(s *graph.State, left []int) string {
	count := map[events.Status]int{}
	for _, i := range left {
		count[s.SubJobs[i].Status]++
	}
	var parts []string
	for _, status := range slices.SortedFunc(maps.Keys(count), func(a, b events.Status) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	}) {
		parts = append(parts, fmt.Sprintf("%d %s", count[status], strings.ToLower(string(status))))
	}
	return fmt.Sprintf("… %d more: %s", len(left), strings.Join(parts, ", "))
}

func (t Tree) heading(s *graph.State) string {
	end := t.Now
	if !s.Ended.IsZero() {
		end = s.Ended
	}
	head := fmt.Sprintf("%s %s  %d/%d  %s", drawing.Mark(string(s.Status)), s.Status, s.Progress.Done, s.Progress.Total, Between(s.Created, end))
	title := drawing.OneLine(drawing.Cut(cmp.Or(s.Title, s.Goal), 60))
	if t.Width > 0 { // The id is shown completely or not at all: a part of it would be useless.
		title = drawing.Cut(title, max(leastTitle, t.Width-drawing.Width(head)-4-len(s.ID)))
	}
	pieces := []piece{{head, func(text string) string { return t.Paint.Status(s.Status, text) }}}
	if title != "" {
		pieces = append(pieces, piece{"  " + title, t.Paint.Bold})
	}
	if t.Width == 0 || drawing.Width(head)+drawing.Width(title)+4+len(s.ID) <= t.Width {
		pieces = append(pieces, piece{"  " + s.ID, t.Paint.Dim})
	}
	return fit(pieces, t.Width)
}

// leastTitle is how many columns of a title are shown before the job's id.
const leastTitle = 12

// choose splits the SubJobs into those to show, by rank, and the rest. Both are in the order of the graph.
func (t Tree) choose(s *graph.State) (shown, left []int) {
	var all []int
	for i, n := range s.SubJobs {
		quiet := n.ID == events.PlanID && n.Status.Terminal() && n.Status != events.Failed
		if quiet || n.Status == events.Legacy && !t.Legacy {
			continue
		}
		all = append(all, i)
	}
	room := max(t.Height-2, 1)
	if t.Height == 0 || len(all) < t.Height {
		return all, nil
	}
	slices.SortStableFunc(all, func(a, b int) int {
		x, y := s.SubJobs[a], s.SubJobs[b]
		return cmp.Or(cmp.Compare(rank(x.Status), rank(y.Status)), y.Ended.Compare(x.Ended))
	})
	return all[:room], all[room:]
}

// rank orders statuses by what to show first.
func rank(s events.Status) int {
	switch s {
	case events.Running:
		return 0
	case events.Failed:
		return 1
	case events.Waiting:
		return 2
	case events.Ready:
		return 3
	case events.Finished, events.Stopped, events.Legacy:
		return 4
	}
	return 5 // Its turn has not come yet.
}

// piece is a part of a line with its colour.
type piece struct {
	text  string
	paint func(string) string
}

// fit joins pieces into a line of limited width; 0 means no limit.
func fit(pieces []piece, width int) string {
	var b strings.Builder
	used := 0
	for _, p := range pieces {
		text := p.text
		if width > 0 {
			text = drawing.Cut(text, width-used)
		}
		used += drawing.Width(text)
		if p.paint != nil {
			text = p.paint(text)
		}
		b.WriteString(text)
		if width > 0 && used >= width {
			break
		}
	}
	return strings.TrimRight(b.String(), " ")
}

func (t Tree) name(n *graph.SubJobState, depth int) string {
	name := n.Title
	switch {
	case n.ID == events.PlanID:
		name = "planning"
	case n.ID == events.FinalID:
		name = "making the result"
	case name == "":
		name = n.ID
	}
	deepest := 12
	if t.Width > 0 {
		deepest = min(deepest, t.Width/10)
	}
	depth = min(depth, deepest)
	indent := strings.Repeat("  ", depth)
	if depth > 0 {
		indent = indent[2:] + "└ "
	}
	return indent + drawing.OneLine(drawing.Cut(name, 40))
}

func (t Tree) line(n *graph.SubJobState, depth, widest, expert int) string {
	mark := string(n.Status)
	if n.Skipped {
		mark = "SKIPPED"
	}
	status := func(text string) string { return t.Paint.Status(n.Status, text) }
	pieces := []piece{{"  ", nil}, {drawing.Mark(mark), status}, {" " + drawing.Pad(drawing.Cut(t.name(n, depth), widest), widest), nil}}
	if expert > 0 {
		pieces = append(pieces, piece{"  " + drawing.Pad(drawing.Cut(expertOf(n), expert), expert), t.Paint.Dim})
	}
	if !n.Started.IsZero() {
		end := t.Now
		if !n.Ended.IsZero() {
			end = n.Ended
		}
		pieces = append(pieces, piece{"  " + drawing.Pad(Span(max(0, end.Sub(n.Started))), 6), nil})
	}
	var notes []string
	if n.Attempts > 0 && n.ID != events.FinalID { // The attempts of the final SubJob count the writers that stood in for each other.
		number, most := n.Attempt()
		notes = append(notes, fmt.Sprintf("attempt %d/%d", number, most))
	}
	if n.Skipped {
		notes = append(notes, "skipped: "+n.When)
	}
	if n.Request != "" {
		notes = append(notes, "waits for "+n.Request)
	}
	if n.Error != nil && n.Status != events.Finished {
		notes = append(notes, n.Error.Error())
	}
	if len(notes) > 0 {
		pieces = append(pieces, piece{"  " + drawing.OneLine(strings.Join(notes, ", ")), status})
	}
	return fit(pieces, t.Width)
}

// depths returns the longest path to each node of a state. Predecessors of nodes from a split may come later in the list,
// so the pass repeats until nothing changes; it needs few rounds and is bounded by the number of nodes.
func depths(s *graph.State) []int {
	depth := make([]int, len(s.SubJobs))
	for range len(s.SubJobs) {
		changed := false
		for i, n := range s.SubJobs {
			for _, at := range n.Deps {
				if want := depth[at] + 1; want > depth[i] && want <= len(depth) {
					depth[i], changed = want, true
				}
			}
		}
		if !changed {
			break
		}
	}
	return depth
}
