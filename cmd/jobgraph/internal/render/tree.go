package render

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/picture"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Tree writes a job as lines: a heading with progress, then one line per SubJob, indented by its depth in the graph.
type Tree struct {
	// Now is the moment up to which running things have lasted.
	Now time.Time
	// Paint colours.
	Paint Paint
	// Height bounds the lines; what is quiet is left out first. 0 means no bound.
	Height int
	// Legacy also shows replaced versions.
	Legacy bool
}

// Lines gives the lines of a state.
func (t Tree) Lines(s *graph.State) []string {
	lines := []string{t.heading(s)}
	shown, left := t.choose(s)
	depth := depths(s)
	widest, expert := 0, 0
	for _, i := range shown {
		n := s.SubJobs[i]
		widest = max(widest, utf8.RuneCountInString(t.name(n, depth[i])))
		expert = max(expert, utf8.RuneCountInString(n.Expert))
	}
	for _, i := range shown {
		lines = append(lines, t.line(s.SubJobs[i], depth[i], min(widest, 56), min(expert, 24)))
	}
	if left > 0 {
		lines = append(lines, t.Paint.Dim(fmt.Sprintf("  … and %d more", left)))
	}
	return lines
}

func (t Tree) heading(s *graph.State) string {
	end := t.Now
	if !s.Ended.IsZero() {
		end = s.Ended
	}
	title := s.Title
	if title == "" {
		title = s.Goal
	}
	head := fmt.Sprintf("%s %s  %d/%d  %s", picture.Mark(string(s.Status)), s.Status, s.Progress.Done, s.Progress.Total, Span(end.Sub(s.Created)))
	return t.Paint.Status(s.Status, head) + "  " + t.Paint.Bold(picture.OneLine(cut(title, 60))) + "  " + t.Paint.Dim(s.ID)
}

// choose gives the SubJobs to show and how many are left out: when there is no room, those that run, wait or failed come
// first, then the last ones that ended.
func (t Tree) choose(s *graph.State) (shown []int, left int) {
	var all []int
	for i, n := range s.SubJobs {
		quiet := n.ID == events.PlanID && n.Status.Terminal() && n.Status != events.Failed
		if quiet || n.Status == events.Legacy && !t.Legacy {
			continue
		}
		all = append(all, i)
	}
	room := t.Height - 2
	if t.Height == 0 || len(all) <= room {
		return all, 0
	}
	room = max(room, 1)
	keep := map[int]bool{}
	for _, busy := range []bool{true, false} {
		for k := len(all) - 1; k >= 0 && len(keep) < room; k-- {
			if loud(s.SubJobs[all[k]].Status) == busy {
				keep[all[k]] = true
			}
		}
	}
	for _, i := range all {
		if keep[i] {
			shown = append(shown, i)
		}
	}
	return shown, len(all) - len(shown)
}

func loud(s events.Status) bool {
	return s == events.Running || s == events.Waiting || s == events.Failed || s == events.Ready
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
	indent := strings.Repeat("  ", min(depth, 12))
	if depth > 0 {
		indent = indent[2:] + "└ "
	}
	return indent + picture.OneLine(cut(name, 40))
}

func (t Tree) line(n *graph.SubJobState, depth, widest, expert int) string {
	mark := string(n.Status)
	if n.Skipped {
		mark = "SKIPPED"
	}
	name := pad(t.name(n, depth), widest)
	line := "  " + t.Paint.Status(n.Status, picture.Mark(mark)) + " " + name + "  " + t.Paint.Dim(pad(picture.OneLine(cut(n.Expert, 24)), expert))
	if !n.Started.IsZero() {
		end := t.Now
		if !n.Ended.IsZero() {
			end = n.Ended
		}
		line += "  " + pad(Span(max(0, end.Sub(n.Started))), 6)
	}
	var notes []string
	if n.Attempts > 0 {
		notes = append(notes, fmt.Sprintf("attempt %d/%d", n.Attempts+1, n.RetryLimit+1))
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
		line += "  " + t.Paint.Status(n.Status, picture.OneLine(strings.Join(notes, ", ")))
	}
	return strings.TrimRight(line, " ")
}

// depths is the longest path to each node of a state. Predecessors of spliced nodes may stand later in the list, so the
// pass repeats until nothing changes; it needs few rounds and is bounded by the number of nodes.
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

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
