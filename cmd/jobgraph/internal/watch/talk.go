package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// The limits of a Talk: up to how many steps the calls of all steps are shown, how many lines a call may print, how many calls in
// progress are shown at once, and how many items are kept for steps that the log does not have yet.
const (
	fewSteps  = 8
	mostLines = 8
	mostCalls = 3
	mostEarly = 1000
)

// Talk turns what the experts of a job say and do into rows for a terminal: texts as they are written, and a row for each tool call
// with its outcome and duration. For a job with several steps it shows the texts of the planner, of the step that all others lead
// to, and of the result; of the other steps only the calls, if there are few steps. It belongs to the goroutine that follows the
// job, and serves all its displays.
type Talk struct {
	// Items are the live items; closed when there will be no more.
	Items <-chan item.Item
	// Paint colours the rows, or leaves them plain.
	Paint output.Paint

	speaker string            // The SubJob named by the latest heading.
	writes  string            // The key of the text that is being written now.
	voices  map[string]*voice // The texts that are not complete.
	waiting []string          // Keys of texts that wait for their turn, the first one first.
	calls   []item.Item       // The calls that are not finished.
	printed map[string]int    // How many lines each call has printed.
	early   []item.Item       // Items of SubJobs that the log does not know yet.
	last    string            // The latest complete text, if no other row came after it.
}

// voice is a text that is being written.
type voice struct {
	item  item.Item
	all   strings.Builder // What was said so far, without tags.
	plain item.Plain
	rest  string // What does not fill a row yet, or waits for its turn.
}

func keyOf(i *item.Item) string { return fmt.Sprintf("%s/%d/%s", i.SubJob, i.Run, i.ID) }

// take returns the rows that an item completes.
func (t *Talk) take(i *item.Item, h *joblog.Log, width int) []string {
	if h.Job == nil || !slices.ContainsFunc(h.Job.View().SubJobs, func(n *graph.SubJobState) bool { return n.ID == i.SubJob }) {
		if len(t.early) < mostEarly {
			t.early = append(t.early, *i)
		}
		return nil
	}
	state := h.Job.View()
	full := whole(state, i.SubJob)
	switch i.Type {
	case item.Tool:
		if !full && len(state.SubJobs) > fewSteps {
			return nil
		}
		return t.call(i, width)
	case item.Text, item.Thinking, item.Plan, item.Guidance, item.Log, item.Seam, item.Gap, item.Warning:
	default:
		return nil
	}
	if !full {
		return nil
	}
	if call, output := strings.CutSuffix(i.ID, "/output"); output && i.Type == item.Log {
		return t.print(i, call, width)
	}
	return t.text(i, width)
}

// whole reports whether the texts of a SubJob are shown: of the planner, of the result, and of the step that all others lead to.
func whole(s *graph.State, subjob string) bool {
	if subjob == events.PlanID || subjob == events.FinalID {
		return true
	}
	leads, ends, mine := map[int32]bool{}, 0, false
	for _, n := range s.SubJobs {
		if n.Status == events.Legacy || n.ID == events.FinalID {
			continue
		}
		for _, at := range n.Deps {
			leads[at] = true
		}
	}
	for at, n := range s.SubJobs {
		if n.ID == events.PlanID || n.ID == events.FinalID || n.Status == events.Legacy || leads[int32(at)] {
			continue
		}
		ends++
		mine = mine || n.ID == subjob
	}
	return mine && ends == 1
}

// known returns the rows for items that arrived before the log had their SubJobs.
func (t *Talk) known(h *joblog.Log, width int) (rows []string) {
	if len(t.early) == 0 || h.Job == nil {
		return nil
	}
	list := t.early
	t.early = nil
	for n := range list {
		rows = append(rows, t.take(&list[n], h, width)...)
	}
	return rows
}

// text appends to a text.
func (t *Talk) text(i *item.Item, width int) (rows []string) {
	key := keyOf(i)
	v := t.voices[key]
	if v == nil || i.Offset == 0 && i.Text != "" { // A text begins, or starts again.
		if i.Text == "" {
			return nil
		}
		v = &voice{}
		if t.voices == nil {
			t.voices = map[string]*voice{}
		}
		t.voices[key] = v
		rows = t.turn(key, i, width)
	}
	v.item = *i
	v.add(i.Text, i.Done)
	if t.writes != key {
		return rows
	}
	rows = append(rows, t.fill(v, width, i.Done)...)
	if i.Done {
		rows = append(rows, t.close(key, width)...)
	}
	return rows
}

// turn lets a new text be written unless a text of another SubJob is being written. A text of the same SubJob counts as
// ended.
func (t *Talk) turn(key string, i *item.Item, width int) (rows []string) {
	now := t.voices[t.writes]
	if now != nil && now.item.SubJob != i.SubJob {
		t.waiting = append(t.waiting, key)
		return nil
	}
	if now != nil && t.writes != key {
		rows = t.fill(now, width, true)
		t.end(t.writes)
	}
	t.writes = key
	return rows
}

// end forgets a voice.
func (t *Talk) end(key string) {
	if v := t.voices[key]; v != nil && v.item.Type == item.Text {
		t.last = v.all.String()
	}
	delete(t.voices, key)
	t.writes = ""
}

// close ends a text and lets the waiting ones be written.
func (t *Talk) close(key string, width int) (rows []string) {
	t.end(key)
	for len(t.waiting) > 0 && t.writes == "" {
		key, t.waiting = t.waiting[0], t.waiting[1:]
		v := t.voices[key]
		if v == nil {
			continue
		}
		t.writes = key
		rows = append(rows, t.fill(v, width, v.item.Done)...)
		if v.item.Done {
			t.end(key)
		}
	}
	return rows
}

// add appends a piece of the text.
func (v *voice) add(text string, done bool) {
	text = v.plain.Add(text, done)
	v.all.WriteString(text)
	v.rest += text
}

// fill returns the rows that a text has filled; if it is complete, also the last one.
func (t *Talk) fill(v *voice, width int, complete bool) (rows []string) {
	room := max(width-drawing.Width(lead(v.item.Type)), minText)
	var end int
	if complete {
		v.rest = strings.TrimRight(v.rest, "\n ")
		end = len(v.rest)
	} else {
		end = strings.LastIndexByte(v.rest, '\n') + 1
		for n := fit(output.Clean(v.rest[end:]), room); n < len(v.rest)-end; n = fit(v.rest[end:], room) {
			end += n
		}
	}
	text := v.rest[:end]
	if v.rest = v.rest[end:]; text == "" {
		return nil
	}
	rows = t.heading(&v.item)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		line = output.Clean(line)
		for n := fit(line, room); n < len(line); n = fit(line, room) {
			rows = append(rows, t.row(v.item.Type, line[:n]))
			line = line[n:]
		}
		rows = append(rows, t.row(v.item.Type, line))
	}
	t.last = ""
	return rows
}

// heading names the speaker when it changes.
func (t *Talk) heading(i *item.Item) []string {
	if t.speaker == i.SubJob {
		return nil
	}
	t.speaker = i.SubJob
	name := drawing.OneLine(i.SubJob)
	switch i.SubJob {
	case events.PlanID:
		name = "planner"
	case events.FinalID:
		name = "result"
	default:
		if i.Expert != "" {
			name += "  " + drawing.OneLine(i.Expert)
		}
	}
	return []string{t.Paint.Bold("● " + name)}
}

// lead returns the sign before the rows of a type.
func lead(kind item.Type) string {
	if kind == item.Text {
		return ""
	}
	return cmp.Or(signs[kind], "|") + " "
}

func (t *Talk) row(kind item.Type, text string) string {
	row := strings.TrimRight(lead(kind)+text, " ")
	if kind == item.Thinking || kind == item.Log {
		return t.Paint.Dim(row)
	}
	return row
}

// open returns the rows that are not complete: the end of the text that is being written, and the calls in progress.
func (t *Talk) open(width int) (rows []string) {
	if v := t.voices[t.writes]; v != nil && v.rest != "" {
		rows = append(rows, t.row(v.item.Type, output.Clean(drawing.Cut(v.rest, width-2))))
		if t.speaker != v.item.SubJob {
			speaker := t.speaker
			rows = append(t.heading(&v.item), rows...)
			t.speaker = speaker
		}
	}
	for n := range t.calls[:min(len(t.calls), mostCalls)] {
		rows = append(rows, t.Paint.Dim(drawing.Cut(called(&t.calls[n])+"  …", width)))
	}
	return rows
}

// flush completes every text and returns its rows.
func (t *Talk) flush(width int) (rows []string) {
	for t.writes != "" || len(t.waiting) > 0 {
		if v := t.voices[t.writes]; v != nil {
			rows = append(rows, t.fill(v, width, true)...)
		}
		if t.writes == "" {
			t.writes, t.waiting = t.waiting[0], t.waiting[1:]
			continue
		}
		t.end(t.writes)
	}
	return rows
}

// Told reports whether a text, or a part of it, is the last that was shown, and returns what still has to be shown of it: what follows
// that part. One row before the part is not shown if it ends in a colon, such as "Plan completed:".
func (t *Talk) Told(text string) (told bool, rest string) {
	text = strings.TrimSpace(text)
	if t == nil || strings.TrimSpace(t.last) == "" {
		return false, text
	}
	before, after, found := strings.Cut(text, strings.TrimSpace(t.last))
	lead := strings.TrimSpace(before)
	switch {
	case !found, after != "" && !strings.HasPrefix(after, "\n"):
		return false, text
	case lead == "", before != strings.TrimRight(before, "\n") && !strings.Contains(lead, "\n") && (strings.HasSuffix(lead, ":") || strings.HasSuffix(lead, "：")):
		return true, strings.TrimSpace(after)
	}
	return false, text
}

// quiet reports whether everything that was begun has been shown completely.
func (t *Talk) quiet() bool { return len(t.voices) == 0 && len(t.calls) == 0 && len(t.early) == 0 }
