package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

func isConflict(err error) bool { return errors.Is(err, ErrConflict) }

// recallFact gives an event that work refers to, from memory or from the log.
func (p *Partition) recallFact(ctx context.Context, job string, seq uint64) (*fact, error) {
	if f := p.facts.get(seq); f != nil {
		return f, nil
	}
	e, err := p.eventAt(ctx, job, seq)
	if err != nil {
		return nil, err
	}
	if err := p.resolve(ctx, &e); err != nil {
		return nil, err
	}
	f := p.keep(job, &e)
	if f == nil {
		return nil, unreadable(seq, "something that work can refer to")
	}
	return f, nil
}

// keep remembers an event for the work of its job; nil when work cannot refer to it.
func (p *Partition) keep(job string, e *events.Event) *fact {
	f := p.facts.keep(e)
	if j := p.jobs[job]; j != nil && f != nil {
		j.kept = append(j.kept, f.seq)
	}
	return f
}

// eventAt reads an event of a job; one that is gone quarantines the job.
func (p *Partition) eventAt(ctx context.Context, job string, seq uint64) (events.Event, error) {
	e, err := p.Log.EventAt(ctx, seq)
	switch {
	case errors.Is(err, ErrNotFound):
		return e, &quarantine{events.Fault{
			Code: events.CodeMissingBlob, Message: fmt.Sprintf("event %d, which the state names, is gone", seq),
			Cause: err.Error(), Hint: "restore the log, then `jobgraph dlq retry " + job + "`",
		}}
	case err != nil:
		return e, fmt.Errorf("read event %d: %w", seq, err)
	case e.Job != job:
		return e, unreadable(seq, "an event of this job")
	}
	return e, nil
}

func unreadable(seq uint64, what string) error {
	return &quarantine{events.Fault{
		Code: events.CodeInternal, Message: fmt.Sprintf("event %d is not %s", seq, what),
		Hint: "the log was changed under the job: restore it, or submit the job again",
	}}
}

// results gives what direct predecessors handed over, by their ids.
func (p *Partition) results(ctx context.Context, job string, inputs []graph.Input) (map[string]events.Result, error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	if len(p.handed) > fewResults {
		p.handed = make(map[string]events.Result, len(inputs)) // Going through a map takes as long as it was ever large.
	} else {
		clear(p.handed)
	}
	for i := range inputs {
		r, err := p.result(ctx, job, &inputs[i])
		if err != nil {
			return nil, err
		}
		p.handed[inputs[i].SubJob] = r
	}
	return p.handed, nil
}

// fewResults is how many results the map of those of the last order may hold to be used again.
const fewResults = 64

// result reads one result where it stands: in a report, in an answer, or in the plan it came with.
func (p *Partition) result(ctx context.Context, job string, in *graph.Input) (events.Result, error) {
	r := events.Result{Run: in.Run, Skipped: in.Skipped}
	if in.Skipped {
		return r, nil
	}
	if in.Spec.Seq != 0 {
		spec, err := p.spec(ctx, job, in.Spec)
		r.Output, r.OutputRef, r.Artifacts = spec.ExecutionRes, spec.ExecutionRef, spec.Artifacts
		return r, err
	}
	f, err := p.recallFact(ctx, job, in.Seq)
	if err != nil {
		return r, err
	}
	switch d := f.data.(type) {
	case *events.SubJobReported:
		r.Output, r.OutputRef, r.Artifacts = d.Output, d.OutputRef, d.Artifacts
	case *events.JobAnswered:
		r.Output = d.Answer
	default:
		return r, unreadable(in.Seq, "a result")
	}
	return r, nil
}

// combine makes a job's result out of its tails: one alone stands as it is, several become an object by their ids.
func (p *Partition) combine(ctx context.Context, job string, tails []graph.Input, results []events.Result) (json.RawMessage, error) {
	outputs := make(map[string]json.RawMessage, len(tails))
	for i := range tails {
		r := results[i]
		if r.OutputRef != nil {
			text, err := p.text(ctx, job, r.OutputRef)
			if err != nil {
				return nil, err
			}
			r.Output = text
		}
		if len(r.Output) == 0 {
			r.Output = json.RawMessage("null")
		}
		output := finalOutput(r.Output)
		if len(tails) == 1 {
			return output, nil
		}
		outputs[tails[i].SubJob] = output
	}
	return json.Marshal(outputs)
}

// text gives a payload as JSON; what is none is named by its reference.
func (p *Partition) text(ctx context.Context, job string, ref *events.Ref) (json.RawMessage, error) {
	if jsonLike := ref.MediaType == "" || ref.MediaType == "application/json"; !jsonLike || ref.Size > mostCombined {
		return json.Marshal(map[string]*events.Ref{"output_ref": ref})
	}
	data, err := p.blob(ctx, job, ref)
	if err != nil || !json.Valid(data) {
		return json.RawMessage(`{"output_ref":{"digest":"` + ref.Digest + `"}}`), err
	}
	return data, nil
}

// mostCombined is the largest payload that is read to be put into a job's result, in bytes.
const mostCombined = 8 << 20

// The marks around what a model declares to be its answer.
const finalOpen, finalClose = "<final_output>", "</final_output>"

// finalOutput takes the marked part out of a text; anything else stays as it is.
func finalOutput(output json.RawMessage) json.RawMessage {
	var text string
	if len(output) == 0 || output[0] != '"' || json.Unmarshal(output, &text) != nil {
		return output
	}
	_, rest, opened := strings.Cut(text, finalOpen)
	inner, _, closed := strings.Cut(rest, finalClose)
	if !opened || !closed {
		return output
	}
	final, err := json.Marshal(strings.TrimSpace(inner))
	if err != nil {
		return output
	}
	return final
}
