package loop

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
)

// fit encodes work as a message within the size limit: large parts become references, results first.
func (b *workBuilder) fit(ctx context.Context, w *events.Work) ([]byte, error) {
	body, err := events.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("encode work: %w", err)
	}
	if len(body) <= events.MaxMessage {
		return body, nil
	}
	return b.shrink(ctx, w, body)
}

// shrink moves parts of the work into blobs, until it fits a message or nothing is left to move.
func (b *workBuilder) shrink(ctx context.Context, w *events.Work, body []byte) (_ []byte, err error) {
	steps := []func() error{
		func() error {
			if len(body)-len(w.Brief) > events.MaxMessage {
				return nil // Moving it would not help.
			}
			return b.referBrief(ctx, w)
		},
		func() (err error) {
			w.ResultsRef, err = b.refer(ctx, w.Job, w.Results, len(w.Results) == 0)
			w.Results = nil
			return err
		},
		func() (err error) {
			ref, err := b.refer(ctx, w.Job, w.Inputs, len(w.Inputs) == 0)
			if ref != nil {
				w.InputsRef, w.Inputs = ref, nil
			}
			return err
		},
		func() error { // The text occurs twice; a planner reads request and spec.
			if w.Request != nil {
				w.Goal, w.Context, w.CompletionCriteria = "", "", ""
				return nil
			}
			w.Spec.Goal, w.Spec.Context, w.Spec.CompletionCriteria = "", "", ""
			return nil
		},
	}
	for _, step := range steps {
		if len(body) <= events.MaxMessage {
			break
		}
		if err := step(); err != nil {
			return nil, err
		}
		if body, err = events.Marshal(w); err != nil {
			return nil, fmt.Errorf("encode work: %w", err)
		}
	}
	return body, nil
}

// referBrief moves the brief into a blob, together with what is left out of it.
func (b *workBuilder) referBrief(ctx context.Context, w *events.Work) error {
	var rest []byte
	if w.BriefRef != nil {
		var err error
		if rest, err = b.folder.blob(ctx, w.Job, w.BriefRef); err != nil {
			return err
		}
	}
	whole, err := brief.Read(w.Brief, rest)
	if err != nil {
		return err
	}
	w.BriefRef, err = b.refer(ctx, w.Job, whole, whole == nil)
	w.Brief = nil
	return err
}

// refer stores a value as a blob, unless it is empty.
func (b *workBuilder) refer(ctx context.Context, job string, value any, empty bool) (*events.Ref, error) {
	if empty {
		return nil, nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode payload: %w", err)
	}
	ref, err := b.Blobs.PutBlob(ctx, job, data)
	if err != nil {
		return nil, fmt.Errorf("store payload: %w", err)
	}
	return &ref, nil
}
