package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// frame is the interval at which a tree is redrawn while something runs.
const frame = 150 * time.Millisecond

// Form is how a job is shown.
type Form int

// The forms in which a job can be shown.
const (
	Lines Form = iota // One line per transition.
	Tree              // A tree, redrawn in place.
	JSON              // One JSON object per transition.
	Quiet             // Nothing at all.
)

// Show is one display of one job.
type Show struct {
	// Out receives what is shown.
	Out  io.Writer
	Form Form
	// Size returns columns and rows of the terminal; it is called before each redraw. It limits the tree.
	Size func() (width, height int, ok bool)
	// Paint colours what is shown, or leaves it plain.
	Paint output.Paint
	// Now returns the current time.
	Now func() time.Time
	// From leaves out transitions before this sequence.
	From uint64
	// Talk is what the experts say and do, on a terminal; nil shows nothing of that.
	Talk *Talk
	// Brief leaves no tree on the screen at the end.
	Brief bool

	drawn  []string // The lines of the tree on the screen, as written.
	stay   []string // The lines that the next tree leaves above itself.
	status events.Status
}

type arrival struct {
	event events.Event
	err   error
}

// Follow folds the log into h and shows it, until done returns true, the log ends or ctx does. done is called after each
// event.
func (s *Show) Follow(outer context.Context, log func(context.Context) iter.Seq2[events.Event, error], h *joblog.Log, done func() bool) error {
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
		case i, open := <-s.Talk.items():
			if err := s.say(h, &i, open); err != nil {
				return err
			}
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
			if err := s.known(h); err != nil {
				return err
			}
			if done() {
				return errors.Join(s.rest(outer, h), s.finish(h))
			}
		case <-ticker.C:
			if err := s.redraw(h, false); err != nil {
				return err
			}
		}
	}
}

// take folds one event and writes what it changed.
func (s *Show) take(h *joblog.Log, e events.Event) error {
	if err := h.Step(e); err != nil {
		return err
	}
	changed := h.Job.Transitions()
	status := h.Job.View().Status
	if s.Form == Tree || s.Form == Quiet || e.Seq < s.From {
		s.status = status
		return nil
	}
	if err := s.notices(e); err != nil { // Before the first step of the plan is shown.
		return err
	}
	if t := putOff(&e); t != nil {
		changed = append(changed, *t)
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

// completed is the transition of a SubJob with a result.
const completed = "completed"

// change is one line for programs.
type change struct {
	Time   time.Time     `json:"time"`
	Job    string        `json:"job"`
	Status events.Status `json:"status,omitempty"`
	*events.Transition
	Expert string        `json:"expert,omitempty"`
	Error  *events.Fault `json:"error,omitempty"`
	// Reason is why a SubJob runs again, unless Error says it.
	Reason string `json:"reason,omitempty"`
	// Artifacts are the files of a completed SubJob's result.
	Artifacts []joblog.Artifact `json:"artifacts,omitempty"`
	// Notices are what the planner says before the SubJobs begin.
	Notices events.Faults `json:"notices,omitempty"`
}

// notices shows what the planner says with a plan.
func (s *Show) notices(e events.Event) error {
	created, ok := e.Data.(*events.GraphCreated)
	if !ok || len(created.Notices) == 0 || e.SubJob != events.PlanID {
		return nil
	}
	if s.Form == JSON {
		return output.Line(s.Out, change{Time: e.Time, Job: e.Job, Notices: created.Notices})
	}
	for _, line := range output.Notices(created.Notices) {
		if err := s.write(e.Time.Local().Format("15:04:05.000") + "  " + line); err != nil {
			return err
		}
	}
	return nil
}

func (s *Show) transition(e events.Event, t events.Transition, h *joblog.Log) error {
	c := change{Time: e.Time, Job: e.Job, Transition: &t}
	status := events.Status("")
	for _, n := range h.Job.View().SubJobs {
		if n.ID == t.SubJob {
			c.Expert, c.Error, status = n.Expert, n.Error, n.Status
		}
	}
	if c.Error == nil {
		c.Reason = reason(&e, &t)
	}
	if t.Transition == completed && t.SubJob != events.FinalID {
		c.Artifacts = h.Artifacts(t.SubJob)
	}
	if s.Form == JSON {
		return output.Line(s.Out, c)
	}
	at := e.Time.Local().Format("15:04:05.000")
	text := fmt.Sprintf("%s  %s %s", at, s.Paint.Status(status, fmt.Sprintf("%-9s", t.Transition)), drawing.OneLine(t.SubJob))
	if t.Run > 1 {
		text += fmt.Sprintf("  run %d", t.Run)
	}
	if c.Expert != "" {
		text += "  " + s.Paint.Dim(drawing.OneLine(c.Expert))
	}
	if c.Error != nil && t.Transition != completed {
		text += "  " + drawing.OneLine(c.Error.Error())
	}
	if c.Reason != "" {
		text += "  " + drawing.OneLine(c.Reason)
	}
	for _, f := range c.Artifacts {
		text += fmt.Sprintf("\n%s  artifact  %s", at, output.Artifact(f.SubJob, f.Ref))
	}
	return s.write(text)
}

func (s *Show) moved(e events.Event, h *joblog.Log) error {
	view := h.Job.View()
	if s.Form == JSON {
		return output.Line(s.Out, change{Time: e.Time, Job: e.Job, Status: view.Status, Error: view.Error})
	}
	text := fmt.Sprintf("%s  job %s  %d/%d", e.Time.Local().Format("15:04:05.000"), s.Paint.Status(view.Status, string(view.Status)), view.Progress.Done, view.Progress.Total)
	if view.Error != nil {
		text += "  " + drawing.OneLine(view.Error.Error())
	}
	if view.Status == events.Waiting && len(requests(h, 0)) > 0 {
		text += "  → jobgraph inputs " + e.Job
	}
	return s.write(text)
}

// write writes whole lines. If a tree is shown, they appear above it when it is next drawn.
func (s *Show) write(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	if s.Form == Tree {
		s.stay = append(s.stay, lines...)
		return nil
	}
	_, err := io.WriteString(s.Out, strings.Join(lines, "\n")+"\n")
	return err
}

// finish leaves the tree on the screen, or removes it.
func (s *Show) finish(h *joblog.Log) error {
	if s.Talk == nil {
		return s.redraw(h, true)
	}
	if err := s.write(s.Talk.flush(s.width())...); err != nil {
		return err
	}
	if h.Job == nil || s.Form != Tree || !s.Brief && h.Job.View().Status.Terminal() {
		return s.redraw(h, true)
	}
	return s.draw(s.columns(), nil)
}

// finalRows limits the last picture, which may be taller than the screen: it scrolls like any output.
const finalRows = 100

// redraw replaces the changed lines of the tree. Each line takes one row, and all trees except the last fit the screen, so that
// moving up by the number of rows leads to the beginning of the previous tree.
func (s *Show) redraw(h *joblog.Log, last bool) error {
	if s.Form != Tree || h.Job == nil {
		return nil
	}
	width, height, ok := s.Size()
	if !ok {
		width, height = 0, 0
	}
	var open []string
	if s.Talk != nil && !last {
		open = s.Talk.open(s.width())
		if len(open) > height/2 {
			open = nil
		}
	}
	lines := append(open, s.picture(h, width, height-len(open), last)...)
	if len(s.stay) == 0 && slices.Equal(lines, s.drawn) {
		return nil
	}
	return s.draw(width, lines)
}

// draw replaces what was drawn by lines that stay, and others that the next call replaces.
func (s *Show) draw(width int, lines []string) error {
	var b strings.Builder
	if up := rows(s.drawn, width); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", up)
	}
	for _, line := range append(s.stay, lines...) {
		b.WriteString(line + "\x1b[K\n") // Overwritten instead of cleared first, so that nothing flickers.
	}
	b.WriteString("\x1b[J")
	s.drawn, s.stay = lines, nil
	_, err := io.WriteString(s.Out, b.String())
	return err
}

// picture returns the lines of the tree and the job's files for a size of the screen.
func (s *Show) picture(h *joblog.Log, width, height int, last bool) []string {
	tree := output.Tree{Now: s.Now(), Paint: s.Paint}
	if width > 0 { // Some terminals move to the next row as soon as a row is full.
		tree.Width, tree.Height = max(width-1, 1), max(height-1, 2)
	}
	if tree.Whole = last; last && height > 0 {
		tree.Height = max(tree.Height, finalRows)
	}
	asked := requests(h, tree.Height/3)
	if tree.Height > 0 {
		tree.Height -= len(asked)
	}
	lines := tree.Lines(h.Job.View())
	for _, line := range asked {
		if tree.Width > 0 {
			line = drawing.Cut(line, tree.Width)
		}
		lines = append(lines, line)
	}
	room := mostFiles
	if tree.Height > 0 {
		room = min(room, tree.Height+len(asked)-len(lines))
	}
	for _, line := range files(h.Artifacts(""), room) {
		if tree.Width > 0 {
			line = drawing.Cut(line, tree.Width)
		}
		lines = append(lines, line)
	}
	return lines
}

// requests returns two lines for each pending request to a person: the prompt and the command that answers it. room bounds the lines; 0 means
// no bound.
func requests(h *joblog.Log, room int) (lines []string) {
	s := h.Job.View()
	for _, in := range s.Inputs {
		if in.Kind == events.InputTimer || in.Closing != "" || room > 0 && len(lines)+2 > room {
			continue
		}
		prompt := ""
		if e := h.At(in.Seq); e != nil {
			if r, ok := e.Data.(*events.InputRequested); ok {
				prompt = r.Prompt
			}
		}
		lines = append(lines, drawing.OneLine("  ? "+cmp.Or(prompt, in.Request)), drawing.OneLine("  → "+graph.AnswerCommand(s.ID, in.Request, in.Kind)))
	}
	return lines
}

// rows returns how many rows the lines take now: a terminal that became narrower has wrapped longer ones.
func rows(lines []string, width int) (n int) {
	for _, line := range lines {
		n++
		if width > 0 {
			n += max(drawing.Width(plain(line))-1, 0) / width
		}
	}
	return n
}

// plain removes the colours from a line.
func plain(line string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(line, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, line, _ = strings.Cut(rest, "m")
	}
}

// mostFiles limits the files below a tree.
const mostFiles = 20

// files returns lines for artifacts; the last ones if there is not enough room.
func files(list []joblog.Artifact, room int) (lines []string) {
	if left := len(list) - room; left > 0 && room > 0 {
		lines = append(lines, fmt.Sprintf("  … %d more artifacts", left+1))
		list = list[left+1:]
	}
	for _, f := range list[:max(0, min(len(list), room))] {
		lines = append(lines, "  artifact  "+output.Artifact(f.SubJob, f.Ref))
	}
	return lines
}
