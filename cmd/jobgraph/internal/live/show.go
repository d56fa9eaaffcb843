package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/history"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/picture"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/render"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// frame is how often a tree is redrawn while something runs.
const frame = 150 * time.Millisecond

// Form is how a job is shown.
type Form int

// The forms.
const (
	Lines Form = iota // One line per transition.
	Tree              // A tree, redrawn in place.
	JSON              // One JSON object per transition.
	Quiet             // Nothing at all.
)

// Show is one display of one job.
type Show struct {
	// Out takes it.
	Out  io.Writer
	Form Form
	// Size bounds a tree.
	Size func() (width, height int, ok bool)
	// Paint colours.
	Paint render.Paint
	// Now is the clock.
	Now func() time.Time
	// From leaves out transitions before this sequence.
	From uint64

	drawn  int // Lines of the tree that stand on the screen.
	status events.Status
}

type arrival struct {
	event events.Event
	err   error
}

// Follow folds the log into h and shows it, until done says so, the log ends or ctx does. done is asked behind each event.
func (s *Show) Follow(outer context.Context, log func(context.Context) iter.Seq2[events.Event, error], h *history.History, done func() bool) error {
	ctx, cancel := context.WithCancel(outer)
	arrivals := make(chan arrival)
	go func() { // Ends with ctx, which is cancelled on return; drained below.
		defer close(arrivals)
		for e, err := range log(ctx) {
			select {
			case arrivals <- arrival{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() {
		cancel()
		for range arrivals { // Wait for its end.
		}
	}()
	ticker := time.NewTicker(frame)
	defer ticker.Stop()
	for {
		select {
		case next, open := <-arrivals:
			if !open {
				return errors.Join(outer.Err(), s.finish(h))
			}
			if next.err != nil {
				return next.err
			}
			if err := s.take(h, next.event); err != nil {
				return err
			}
			if done() {
				return s.finish(h)
			}
		case <-ticker.C:
			if err := s.redraw(h, false); err != nil {
				return err
			}
		}
	}
}

// take folds one event and writes what it changed.
func (s *Show) take(h *history.History, e events.Event) error {
	if err := h.Step(e); err != nil {
		return err
	}
	changed := h.Job.Transitions()
	status := h.Job.View().Status
	if s.Form == Tree || s.Form == Quiet || e.Seq < s.From {
		s.status = status
		return nil
	}
	for _, t := range changed {
		if err := s.transition(e, t, h); err != nil {
			return err
		}
	}
	if s.status == status {
		return nil
	}
	s.status = status
	return s.moved(e, h)
}

// completed is the transition of a SubJob that has a result.
const completed = "completed"

// change is a line for programs.
type change struct {
	Time   time.Time     `json:"time"`
	Job    string        `json:"job"`
	Status events.Status `json:"status,omitempty"`
	*events.Transition
	Expert string        `json:"expert,omitempty"`
	Error  *events.Fault `json:"error,omitempty"`
	// Artifacts are the files that a SubJob hands over which has completed.
	Artifacts []history.Artifact `json:"artifacts,omitempty"`
}

func (s *Show) transition(e events.Event, t events.Transition, h *history.History) error {
	c := change{Time: e.Time, Job: e.Job, Transition: &t}
	status := events.Status("")
	for _, n := range h.Job.View().SubJobs {
		if n.ID == t.SubJob {
			c.Expert, c.Error, status = n.Expert, n.Error, n.Status
		}
	}
	if t.Transition == completed && t.SubJob != events.FinalID {
		c.Artifacts = h.Artifacts(t.SubJob)
	}
	if s.Form == JSON {
		return render.Line(s.Out, c)
	}
	at := e.Time.Local().Format("15:04:05.000")
	text := fmt.Sprintf("%s  %s %s", at, s.Paint.Status(status, fmt.Sprintf("%-9s", t.Transition)), picture.OneLine(t.SubJob))
	if t.Run > 1 {
		text += fmt.Sprintf("  run %d", t.Run)
	}
	if c.Expert != "" {
		text += "  " + s.Paint.Dim(picture.OneLine(c.Expert))
	}
	if c.Error != nil && t.Transition != completed {
		text += "  " + picture.OneLine(c.Error.Error())
	}
	for _, f := range c.Artifacts {
		text += fmt.Sprintf("\n%s  artifact  %s", at, render.Artifact(f.SubJob, f.Ref))
	}
	return s.write(text)
}

func (s *Show) moved(e events.Event, h *history.History) error {
	view := h.Job.View()
	if s.Form == JSON {
		return render.Line(s.Out, change{Time: e.Time, Job: e.Job, Status: view.Status, Error: view.Error})
	}
	text := fmt.Sprintf("%s  job %s  %d/%d", e.Time.Local().Format("15:04:05.000"), s.Paint.Status(view.Status, string(view.Status)), view.Progress.Done, view.Progress.Total)
	if view.Error != nil {
		text += "  " + picture.OneLine(view.Error.Error())
	}
	return s.write(text)
}

func (s *Show) write(line string) error {
	_, err := io.WriteString(s.Out, line+"\n")
	return err
}

// finish leaves the whole tree on the screen.
func (s *Show) finish(h *history.History) error { return s.redraw(h, true) }

// redraw replaces the tree. The last one is whole; those before it fit the screen.
func (s *Show) redraw(h *history.History, last bool) error {
	if s.Form != Tree || h.Job == nil {
		return nil
	}
	tree := render.Tree{Now: s.Now(), Paint: s.Paint}
	if _, height, ok := s.Size(); ok && !last {
		tree.Height = height - 1
	}
	text := ""
	if s.drawn > 0 {
		text = fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn)
	}
	lines := tree.Lines(h.Job.View())
	room := mostFiles
	if tree.Height > 0 {
		room = min(room, tree.Height-len(lines))
	}
	lines = append(lines, files(h.Artifacts(""), room)...)
	for _, line := range lines {
		text += line + "\n"
	}
	s.drawn = len(lines)
	_, err := io.WriteString(s.Out, text)
	return err
}

// mostFiles bounds the files below a tree.
const mostFiles = 20

// files are lines for artifacts, the last ones when there is no room for all.
func files(list []history.Artifact, room int) (lines []string) {
	if left := len(list) - room; left > 0 && room > 0 {
		lines = append(lines, fmt.Sprintf("  … %d more artifacts", left+1))
		list = list[left+1:]
	}
	for _, f := range list[:max(0, min(len(list), room))] {
		lines = append(lines, "  artifact  "+render.Artifact(f.SubJob, f.Ref))
	}
	return lines
}
