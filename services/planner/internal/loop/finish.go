package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/finish"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// mostRead is the largest result, in bytes, that is read for a summary or report.
const mostRead = 8 << 20

// gather collects the executed steps, for work that writes them up. An error means: try again.
func (t *planningRun) gather() error {
	t.start.Words, t.start.Courteous, t.start.Careful, t.start.Settled = true, true, true, true
	if t.w.Kind != events.WorkFinalize {
		return nil
	}
	r := &t.start.Request
	raw := r.Plan
	r.Plan, t.start.Findings, t.start.Lessons = nil, nil, nil
	var carried events.Plan
	if json.Unmarshal(raw, &carried) != nil {
		return nil // Planning reports what is missing.
	}
	results, files, err := t.results()
	if err != nil {
		return err
	}
	form, standIn, _ := strings.Cut(r.Finalize, ":")
	m := finish.New(form, &carried, results)
	m.Attach(files)
	if m.Given, m.Unsearched, err = t.given(files); err != nil {
		return err
	}
	m.Written, m.Text = t.w.Attempt > 1, finish.Words(results[events.FinalID])
	if slices.ContainsFunc(t.start.Cards, func(c events.Card) bool { return c.ID == standIn && !c.Disabled }) {
		m.StandIn = standIn
	}
	if r.Locale == "" {
		r.Locale = carried.Locale
	}
	t.start.Finish = &m
	return nil
}

// results returns the results of the SubJobs by id: texts and files.
func (t *planningRun) results() (texts map[string]json.RawMessage, files map[string][]events.Ref, err error) {
	given := t.w.Results
	if t.w.ResultsRef != nil {
		data, err := t.loop.Blobs.Get(t.ctx, t.w.Job, t.w.ResultsRef.Digest)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, nil, fmt.Errorf("read results: %w", err)
		}
		if json.Unmarshal(data, &given) != nil {
			given = nil // There is nothing to write about.
		}
	}
	texts, files = make(map[string]json.RawMessage, len(given)), map[string][]events.Ref{}
	for id, r := range given {
		text, err := t.loop.output(t.ctx, t.w.Job, &r)
		if err != nil {
			return nil, nil, err
		}
		if len(text) == 0 && len(r.Artifacts) > 0 {
			text = json.RawMessage(`""`) // Its files are its only result.
		}
		if len(text) > 0 && !r.Skipped {
			texts[id] = text
		}
		if len(r.Artifacts) > 0 {
			files[id] = r.Artifacts
		}
	}
	return texts, files, nil
}

// Limits of the search for sources in a job's files: the number of files that are read, the bytes read of each, and the bytes of all
// sources found.
const (
	mostSearched   = 64
	mostSearchedIn = 1 << 20
	mostGiven      = 64 << 10
)

// given lists the sources in the job's inputs and in its text files: these may be cited as well. unsearched is true if there may be
// more.
func (t *planningRun) given(files map[string][]events.Ref) (sources []string, unsearched bool, err error) {
	var list []string
	for _, input := range t.w.Inputs { // any order: sorted below.
		list = append(list, finish.Addresses(input)...)
	}
	refs := slices.Clone(t.w.Attachments)
	if t.w.InputsRef != nil {
		refs = append(refs, *t.w.InputsRef)
	}
	for _, id := range slices.Sorted(maps.Keys(files)) {
		refs = append(refs, files[id]...)
	}
	unsearched = len(refs) > mostSearched
	for _, ref := range refs[:min(len(refs), mostSearched)] {
		list = append(list, ref.Name)
		if ref.Size > mostSearchedIn {
			unsearched = true
			continue
		}
		data, err := t.loop.Blobs.Get(t.ctx, t.w.Job, ref.Digest)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, false, fmt.Errorf("read %s: %w", ref.Name, err)
		}
		unsearched = unsearched || err != nil
		if utf8.Valid(data) {
			list = append(list, finish.Addresses(data)...)
		}
	}
	slices.Sort(list)
	list = slices.DeleteFunc(slices.Compact(list), func(at string) bool { return !strings.Contains(at, ":") })
	if len(strings.Join(list, "")) > mostGiven {
		return nil, true, nil
	}
	return list, unsearched, nil
}

// output returns a result as JSON. A result that is not text, is too large or was deleted is represented by its reference.
func (l *Loop) output(ctx context.Context, job string, r *events.Result) (json.RawMessage, error) {
	ref := r.OutputRef
	if ref == nil {
		return r.Output, nil
	}
	kind, _, _ := strings.Cut(ref.MediaType, ";")
	if ref.Size <= mostRead && (kind == "" || kind == "application/json" || strings.HasPrefix(kind, "text/")) {
		data, err := l.Blobs.Get(ctx, job, ref.Digest)
		switch {
		case err == nil && json.Valid(data):
			return data, nil
		case err == nil:
			return json.Marshal(string(data))
		case !errors.Is(err, store.ErrNotFound):
			return nil, fmt.Errorf("read a result: %w", err)
		}
	}
	return json.Marshal(map[string]*events.Ref{"output_ref": ref})
}

// reported converts the ending of a run that writes up a result into the report that the run must publish, whatever ended
// it.
func reported(end *planning.Ending) *planning.Ending {
	if end.Report != nil {
		return end
	}
	fault := events.Fault{Code: events.CodeExecution, Message: "the result was not put into words"}
	if len(end.Faults) > 0 {
		fault = end.Faults[0]
	}
	return &planning.Ending{
		Kind: events.KindSubJobReported, Faults: end.Faults, Author: end.Author,
		Report: &events.SubJobReported{Outcome: events.ExecutionError, Error: &fault},
	}
}

// report builds the payload of a report. A text that is too long for a message is stored first.
func (l *Loop) report(ctx context.Context, w *events.Work, v *verdict) (any, error) {
	r := *v.end.Report
	r.Owner, r.Spent = l.Owner, v.spent
	if len(r.Output) > events.MaxInline {
		ref, err := l.Blobs.Put(ctx, w.Job, r.Output)
		if err != nil {
			return nil, fmt.Errorf("store the words: %w", err)
		}
		ref.MediaType = "application/json"
		r.Output, r.OutputRef = nil, &ref
	}
	return &r, nil
}
