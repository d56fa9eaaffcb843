package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// addResults adds the results of the direct predecessors to work, by id.
func (b *workBuilder) addResults(ctx context.Context, j *job, inputs []graph.Input, w *events.Work) error {
	if w.Results == nil && len(inputs) > 0 {
		w.Results = make(map[string]events.Result, len(inputs))
	}
	for i := range inputs {
		r, err := b.result(ctx, j, &inputs[i])
		if err != nil {
			return err
		}
		w.Results[inputs[i].SubJob] = r
	}
	return nil
}

// emptied returns the map of the previous work for the next one; nil if there was none, or a large one: clearing a map takes time in
// proportion to its largest size so far.
func emptied(results map[string]events.Result) map[string]events.Result {
	if len(results) > maxReusedResults {
		return nil
	}
	clear(results)
	return results
}

// maxReusedResults is the number of results up to which a map is reused.
const maxReusedResults = 64

// result reads one result from where it is stored: a report, an answer, or its plan.
func (b *workBuilder) result(ctx context.Context, j *job, in *graph.Input) (events.Result, error) {
	r := events.Result{Run: in.Run, Skipped: in.Skipped}
	if in.Skipped {
		return r, nil
	}
	if in.Spec.Seq != 0 {
		spec, err := b.spec(ctx, j, in.Spec)
		r.Output, r.OutputRef, r.Artifacts = spec.ExecutionRes, spec.ExecutionRef, spec.Artifacts
		return r, err
	}
	f, err := b.loadEvent(ctx, j, in.Seq)
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

// combine makes a job's result from the results of its last SubJobs: a single one unchanged, several as an object by id.
func (b *workBuilder) combine(ctx context.Context, j *job, tails []graph.Input, results []events.Result) (json.RawMessage, error) {
	outputs := make(map[string]json.RawMessage, len(tails))
	for i := range tails {
		r := results[i]
		if r.OutputRef != nil {
			text, err := b.text(ctx, j, r.OutputRef)
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

// text returns a payload as JSON; anything else is represented by its reference.
func (b *workBuilder) text(ctx context.Context, j *job, ref *events.Ref) (json.RawMessage, error) {
	if jsonLike := ref.MediaType == "" || ref.MediaType == "application/json"; !jsonLike || ref.Size > maxCombined {
		return json.Marshal(map[string]*events.Ref{"output_ref": ref})
	}
	data, err := b.folder.blob(ctx, j.id, ref)
	if err != nil || !json.Valid(data) {
		return json.RawMessage(`{"output_ref":{"digest":"` + ref.Digest + `"}}`), err
	}
	return data, nil
}

// maxCombined is the largest payload that is included in a combined result, in bytes.
const maxCombined = 8 << 20

// The tags around the text that a model marks as its answer.
const finalOpen, finalClose = "<final_output>", "</final_output>"

// finalOutput extracts the tagged part of a text; other values stay unchanged.
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

// fillResult puts the result into the event, by reference if it is large. A single large payload keeps its reference.
func (b *workBuilder) fillResult(ctx context.Context, j *job, tails []graph.Input, end *events.JobEnded) error {
	if len(tails) == 0 {
		return nil
	}
	results := make([]events.Result, len(tails))
	var err error
	for i := range tails {
		if results[i], err = b.result(ctx, j, &tails[i]); err != nil {
			return err
		}
	}
	end.Artifacts = artifacts(tails, results)
	if len(tails) == 1 && results[0].OutputRef != nil {
		end.ResultRef = results[0].OutputRef
		return nil
	}
	result, err := b.combine(ctx, j, tails, results)
	if err != nil {
		return fmt.Errorf("make result: %w", err)
	}
	if len(result) <= events.MaxInline {
		end.Result = result
		return nil
	}
	end.ResultRef, err = b.refer(ctx, j.id, result, false)
	return err
}

// maxArtifacts limits the artifacts in the end of a job; the reports name all.
const maxArtifacts = 256

// artifacts returns the artifacts of the job's result, each under the SubJob that made it.
func artifacts(tails []graph.Input, results []events.Result) []events.Ref {
	var list []events.Ref
	for i := range tails {
		for _, ref := range results[i].Artifacts {
			if len(list) == maxArtifacts {
				return list
			}
			if tails[i].SubJob != events.FinalID {
				ref.Name = tails[i].SubJob + "/" + ref.Name // The planner has already named the ones that it passes on.
			}
			list = append(list, ref)
		}
	}
	return list
}
