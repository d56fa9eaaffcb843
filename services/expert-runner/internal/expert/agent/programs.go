package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/program"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// programs returns the tool that runs programs in the workspace.
func (r *run) programs() tool.Tool {
	_, err := r.config.Programs.Find(python)
	return tool.Programs{Execute: r.execute, Python: err == nil, Network: r.config.Programs.Policy.Network}.Tool()
}

// Shell is the program that the tool run needs; python runs Python scripts if it is installed.
const (
	Shell  = "sh"
	python = "python3"
)

// execute runs a script that the model has written.
func (r *run) execute(ctx context.Context, s tool.Script) (tool.Ended, error) {
	o := program.Order{
		Argv: []string{Shell, "-c", s.Shell}, Dir: r.dir, Temp: filepath.Join(r.dir, workspace.TempDir), Timeout: s.Timeout, Said: s.Said,
	}
	if s.Python != "" {
		o.Argv, o.Input = []string{python, "-"}, s.Python
	}
	result, err := r.config.Programs.Run(ctx, r.task, o)
	if err != nil {
		return tool.Ended{}, err
	}
	return tool.Ended{Output: result.Output, Code: result.Code, Signal: result.Signal, Why: result.Ended, Took: result.Took}, nil
}

// callRecord is the record of a call that changed the workspace. Any other call is recorded as its text alone.
type callRecord struct {
	// Observation is what the model sees.
	Observation string `json:"observation"`
	// Files are the changes of the workspace; nil if they were too large to store.
	Files *events.Ref `json:"files,omitempty"`
}

// record returns the record of a call, with its changes of the workspace.
func (r *run) record(ctx context.Context, t *tool.Tool, text string) (json.RawMessage, error) {
	if !t.Files {
		return quoted(text), ctx.Err()
	}
	files, err := r.tracker.Changes(ctx)
	switch {
	case errors.Is(err, workspace.ErrTooLarge):
		r.task.Log.Warn("changes of the workspace are not kept", "reason", "too large", "bytes", workspace.MaxChanged)
	case err != nil:
		return nil, err
	case files == nil:
		return quoted(text), ctx.Err()
	}
	raw, err := json.Marshal(callRecord{Observation: text, Files: files})
	return raw, errors.Join(err, ctx.Err())
}

// observation reads the record of a call.
func observation(raw json.RawMessage) (text string, files *events.Ref, kept bool) {
	var o callRecord
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &o) != nil || o.Observation == "" {
		return conversation.Words(raw), nil, true
	}
	return o.Observation, o.Files, o.Files != nil
}

// again repeats the changes of a recorded call in the present workspace.
func (r *run) again(ctx context.Context, name string, files *events.Ref, kept bool) error {
	switch {
	case !kept:
		return &events.Fault{
			Code: events.CodeTooLarge, Field: "tools", Message: fmt.Sprintf("the run cannot continue in a new workspace: a call of %s changed more than %d bytes, which were not kept", name, workspace.MaxChanged),
			Hint: "a retry begins another conversation",
		}
	case files == nil:
		return nil
	}
	read, write := io.Pipe()
	fetched := make(chan error, 1)
	go func() { // Ends with the payload, or when the reader has failed.
		err := r.task.Payload(ctx, *files, write)
		_ = write.CloseWithError(err)
		fetched <- err
	}()
	err := r.tracker.Apply(read)
	_ = read.CloseWithError(errors.New("the changes cannot be read"))
	return errors.Join(err, <-fetched)
}
