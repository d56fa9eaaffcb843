package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
)

// input is the JSON object on the program's standard input.
type input struct {
	Job                string                     `json:"job"`
	SubJob             string                     `json:"subjob"`
	Run                int                        `json:"run"`
	Attempt            int                        `json:"attempt,omitempty"`
	Goal               string                     `json:"goal"`
	Context            string                     `json:"context,omitempty"`
	CompletionCriteria string                     `json:"completion_criteria,omitempty"`
	Inputs             map[string]json.RawMessage `json:"inputs"`
	Results            map[string]result          `json:"results"`
	Attachments        []file                     `json:"attachments,omitempty"`
	Lessons            []string                   `json:"lessons,omitempty"`
	History            json.RawMessage            `json:"history,omitempty"`
	Answers            map[string]json.RawMessage `json:"answers,omitempty"`
	Language           string                     `json:"language,omitempty"`
	OutputSchema       json.RawMessage            `json:"output_schema,omitempty"`
	Workspace          string                     `json:"workspace"`
	Deadline           string                     `json:"deadline,omitempty"`
	IdempotencyKey     string                     `json:"idempotency_key"`
	// Brief is what the run knows about its job.
	Brief *brief.Brief `json:"brief,omitempty"`
}

// result is the result of a predecessor: JSON inline, anything else as a file.
type result struct {
	Output json.RawMessage `json:"output,omitempty"`
	File   *file           `json:"file,omitempty"`
	// Artifacts are its files.
	Artifacts []file `json:"artifacts,omitempty"`
	Skipped   bool   `json:"skipped"`
}

// file is a payload in the workspace.
type file struct {
	Path      string `json:"path"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	Size      int64  `json:"size"`
}

// stdin builds the input of a run and writes its files.
func stdin(ctx context.Context, t *expert.Task, dir string) ([]byte, error) {
	w := t.Work
	if err := workspace.Collision(w.Results); err != nil {
		return nil, err
	}
	in := input{
		Job: w.Job, SubJob: w.SubJob, Run: w.Run, Attempt: w.Attempt, Goal: w.Goal, Context: w.Context,
		CompletionCriteria: w.CompletionCriteria, Inputs: w.Inputs, Results: map[string]result{}, Lessons: w.Lessons, History: w.History,
		Language: w.Spec.Language, OutputSchema: w.Spec.OutputSchema, Workspace: dir, IdempotencyKey: w.IdempotencyKey,
		Brief: t.Brief(),
	}
	if in.Inputs == nil {
		in.Inputs = map[string]json.RawMessage{}
	}
	if deadline, ok := ctx.Deadline(); ok {
		in.Deadline = deadline.UTC().Format(time.RFC3339Nano)
	}
	for id, r := range w.Results {
		handed := result{Output: r.Output, Skipped: r.Skipped}
		if r.Output == nil && r.OutputRef != nil {
			f, err := fetch(ctx, t, dir, "results", id, *r.OutputRef)
			if err != nil {
				return nil, err
			}
			handed.File = f
		}
		for _, ref := range r.Artifacts {
			f, err := fetch(ctx, t, dir, workspace.ArtifactFolder(id, ref.Name), "artifact", ref)
			if err != nil {
				return nil, err
			}
			handed.Artifacts = append(handed.Artifacts, *f)
		}
		in.Results[id] = handed
	}
	for i, ref := range w.Attachments {
		f, err := fetch(ctx, t, dir, workspace.AttachmentFolder(ref.Name), "attachment-"+strconv.Itoa(i+1), ref)
		if err != nil {
			return nil, err
		}
		in.Attachments = append(in.Attachments, *f)
	}
	for request, closed := range w.Answers {
		if in.Answers == nil {
			in.Answers = map[string]json.RawMessage{}
		}
		in.Answers[request] = closed.Answer
	}
	body, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("write input: %w", err)
	}
	return body, nil
}

func fetch(ctx context.Context, t *expert.Task, dir, folder, fallback string, ref events.Ref) (*file, error) {
	name := ref.Name
	if name == "" {
		name = fallback
	}
	path, size, err := workspace.Receive(dir, folder, name, func(w io.Writer) error { return t.Payload(ctx, ref, w) })
	if err != nil {
		return nil, err
	}
	return &file{Path: path, Name: ref.Name, MediaType: ref.MediaType, Size: size}, nil
}

// facts are the environment variables that identify the run.
func facts(t *expert.Task, dir string) map[string]string {
	w := t.Work
	known := map[string]string{
		"JOBGRAPH_JOB": w.Job, "JOBGRAPH_SUBJOB": w.SubJob, "JOBGRAPH_RUN": strconv.Itoa(w.Run),
		"JOBGRAPH_ATTEMPT": strconv.Itoa(w.Attempt), "JOBGRAPH_IDEMPOTENCY_KEY": w.IdempotencyKey,
		"JOBGRAPH_WORKSPACE": dir, "JOBGRAPH_LOCALE": w.Locale,
		"JOBGRAPH_SESSION": variable(w.Session), "JOBGRAPH_THREAD": variable(w.Thread), "JOBGRAPH_USER": variable(w.User),
	}
	if t.Trace != "" {
		known["TRACEPARENT"] = variable(t.Trace)
	}
	return known
}

// variable is a text as the value of an environment variable, which cannot contain a zero byte.
func variable(text string) string { return strings.ReplaceAll(text, "\x00", "") }
