package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// maxBrought limits the inputs of one run that are brought inline, in bytes.
const maxBrought = 256 << 20

// payloads reads and stores the blobs and files of one job.
type payloads struct {
	loop *Loop
	job  string
}

// bring loads inputs and results that are stored as blobs into the work, with the history and the brief. An ending means that the
// work cannot be executed. It returns false if the bus does not answer; then it has given the delivery back.
func (r *run) bring() (*task.Ending, bool) {
	err := r.payloads.bring(r.ctx, &r.Work)
	if err == nil {
		err = errors.Join(r.recall(), r.bringBrief())
	}
	var fault *events.Fault
	switch {
	case err == nil:
		return nil, true
	case errors.As(err, &fault):
		e := task.Ending{Report: &events.SubJobReported{Outcome: events.ExecutionError, Error: fault, Lesson: fault.Error()}}
		return &e, true
	}
	r.later("read an input", err)
	return nil, false
}

// bring loads the blobs of the work of a run.
func (p payloads) bring(ctx context.Context, work *events.Work) error {
	weight := int64(0)
	if work.InputsRef != nil {
		if err := p.into(ctx, *work.InputsRef, &weight, &work.Inputs); err != nil {
			return err
		}
	}
	if work.ResultsRef != nil {
		if err := p.into(ctx, *work.ResultsRef, &weight, &work.Results); err != nil {
			return err
		}
	}
	for id, result := range work.Results {
		ref := result.OutputRef
		if ref == nil || ref.MediaType != "" && ref.MediaType != "application/json" {
			continue
		}
		if err := p.into(ctx, *ref, &weight, &result.Output); err != nil {
			return err
		}
		work.Results[id] = result
	}
	return nil
}

func (p payloads) into(ctx context.Context, ref events.Ref, weight *int64, into any) error {
	if *weight += ref.Size; *weight > maxBrought {
		return &events.Fault{
			Code: events.CodeTooLarge, Message: fmt.Sprintf("the inputs are larger than %d bytes together", maxBrought),
			Hint: "hand over files, or less",
		}
	}
	data, err := p.get(ctx, ref)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return &events.Fault{Code: events.CodeMalformed, Message: "a payload by reference is not the JSON it should be", Cause: err.Error(), RawRef: &ref}
	}
	return nil
}

// get reads one blob; a missing one is an *events.Fault.
func (p payloads) get(ctx context.Context, ref events.Ref) ([]byte, error) {
	data, err := p.loop.Blobs.Get(ctx, p.job, ref.Digest)
	return data, missing(ref, err)
}

// fetch writes a blob of any size to w; a missing one is an *events.Fault.
func (p payloads) fetch(ctx context.Context, ref events.Ref, w io.Writer) error {
	return missing(ref, p.loop.Files.Fetch(ctx, p.job, ref.Digest, w))
}

// store stores a file of the run. While the bus is away it waits as long as the run may take.
func (p payloads) store(ctx context.Context, file io.ReadSeeker) (events.Ref, error) {
	for retry := lease.FirstRetry; ; retry = min(2*retry, lease.LongRetry) {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return events.Ref{}, unreadable(err)
		}
		ref, err := p.loop.Files.Store(ctx, p.job, file)
		var path *fs.PathError
		switch {
		case err == nil:
			return ref, nil
		case errors.Is(err, store.ErrTooLarge):
			return ref, &events.Fault{Code: events.CodeTooLarge, Message: "it can never be stored", Cause: err.Error(), Hint: "split it"}
		case errors.Is(err, store.ErrConflict), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &path):
			return ref, unreadable(err)
		case lease.Pause(ctx, retry) != nil:
			return ref, err
		}
	}
}

func unreadable(err error) error {
	return &events.Fault{
		Code: events.CodeExecution, Message: "it changed while it was stored, or cannot be read", Cause: err.Error(),
		Hint: "end whatever writes to it before the run ends",
	}
}

func missing(ref events.Ref, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return &events.Fault{
			Code: events.CodeMissingBlob, Message: "a payload is gone", Cause: err.Error(),
			Hint: "run the SubJob that made it again", RawRef: &ref,
		}
	}
	return fmt.Errorf("read payload %s: %w", ref.Digest, err)
}

// offload moves what is too large for a message, or not JSON, into a blob; values for conditions stay inline.
func (p payloads) offload(ctx context.Context, report *events.SubJobReported, conditions []string) error {
	if err := p.offloadLog(ctx, report); err != nil {
		return err
	}
	raw := report.OutputRef != nil && report.OutputRef.Digest == ""
	if !raw && len(report.Output) <= events.MaxInline {
		return nil
	}
	mediaType := ""
	if raw {
		mediaType = report.OutputRef.MediaType
	} else if !json.Valid(report.Output) {
		return &json.SyntaxError{}
	}
	ref, err := p.loop.Blobs.Put(ctx, p.job, report.Output)
	if err != nil {
		return err
	}
	if !raw {
		report.Selected = task.Selected(report.Output, conditions)
	}
	ref.MediaType = mediaType
	report.Output, report.OutputRef = nil, &ref
	return nil
}

// maxInlineLog is how much of a log a report itself contains, in bytes: all readers of the log read it.
const maxInlineLog = 8 << 10

// offloadLog moves a long log into a blob.
func (p payloads) offloadLog(ctx context.Context, report *events.SubJobReported) error {
	if len(report.Log) <= maxInlineLog {
		return nil
	}
	ref, err := p.loop.Blobs.Put(ctx, p.job, []byte(report.Log))
	if err != nil {
		return err
	}
	ref.MediaType = "text/plain; charset=utf-8"
	report.Log, report.LogRef = "", &ref
	return nil
}
