package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// MaxBytes is the largest task that is read, in bytes.
const MaxBytes = 64 << 20

// Task is what a runner hands to a command expert.
type Task struct {
	// Job is the id of the job.
	Job string `json:"job"`
	// Subjob is the id of the step within the job.
	Subjob string `json:"subjob"`
	// Run grows with each issue of this step: 1 at first, more after a retry or an upstream re-run.
	Run int `json:"run"`
	// Goal is what the step has to achieve.
	Goal string `json:"goal"`
	// Context is what the planner wants the expert to know.
	Context string `json:"context"`
	// CompletionCriteria says when the step counts as done.
	CompletionCriteria string `json:"completion_criteria"`
	// Inputs are the job's inputs by name.
	Inputs map[string]json.RawMessage `json:"inputs"`
	// Results are the results of the direct predecessors by SubJob id.
	Results map[string]Result `json:"results"`
	// Lessons are what earlier runs, or complaining successors, said about this step.
	Lessons []string `json:"lessons"`
	// Workspace is the new folder in which this run works; empty when a person runs the program.
	Workspace string `json:"workspace"`
	// Deadline is the time after which the result is useless; zero if there is none.
	Deadline time.Time `json:"deadline,omitzero"`
}

// Result is the result of a predecessor.
type Result struct {
	// Output is any JSON value.
	Output json.RawMessage `json:"output"`
	// Skipped is true if the predecessor did not run because its condition was false.
	Skipped bool `json:"skipped"`
}

// Read decodes one task. An empty input is an empty task, so that a program can be tried by hand.
func Read(r io.Reader) (Task, error) {
	raw, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return Task{}, fmt.Errorf("read task: %w", err)
	}
	if len(raw) > MaxBytes {
		return Task{}, fmt.Errorf("task is larger than %d bytes: hand over less, or a path to it", MaxBytes)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return Task{}, nil
	}
	var t Task
	if err := json.Unmarshal(raw, &t); err != nil {
		return Task{}, fmt.Errorf("task is not the JSON object of the command-expert contract: %w", err)
	}
	return t, nil
}

// Text returns a text input. It is empty when the input is absent or null; anything but text is a Fault.
func (t Task) Text(name string) (string, error) {
	raw, ok := t.Inputs[name]
	if !ok || string(raw) == "null" {
		return "", nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", Bad("input %q is %s, not text: give --input %s=TEXT", name, clip(raw), name)
	}
	return s, nil
}

// Folder returns a folder input as an absolute path, or fallback when the input is absent. A relative path means
// nothing inside a workspace that was made for this run, so there it is a Fault.
func (t Task) Folder(name, fallback string) (string, error) {
	dir, err := t.Text(name)
	if err != nil {
		return "", err
	}
	if dir == "" {
		dir = fallback
	}
	if dir == "" || (t.Workspace != "" && !filepath.IsAbs(dir)) {
		return "", Bad("input %q is %q: give the absolute path of a folder, --input %s=/some/folder", name, dir, name)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("make %s absolute: %w", dir, err)
	}
	return abs, nil
}

// OpenFolder opens the folder of an input for reading, confined to that folder.
func (t Task) OpenFolder(name, fallback string) (*os.Root, string, error) {
	dir, err := t.Folder(name, fallback)
	if err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, "", Bad("folder %s does not exist: give another one, --input %s=/some/folder", dir, name)
	case errors.Is(err, os.ErrPermission):
		return nil, "", Bad("folder %s may not be read by this user: change its permissions or give another one", dir)
	case err != nil:
		return nil, "", Bad("%s cannot be opened as a folder (%v): give a folder, --input %s=/some/folder", dir, err, name)
	}
	return root, dir, nil
}

// Outputs yields the predecessors' outputs that are JSON objects with the given key, decoded, in the order of their
// SubJob ids. Predecessors are known by what they hand over, not by their names, so that the same program serves any
// plan. An output that has the key and does not decode yields its error.
func Outputs[T any](t Task, key string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, id := range slices.Sorted(maps.Keys(t.Results)) {
			raw := unquote(t.Results[id].Output)
			var shape map[string]json.RawMessage
			if t.Results[id].Skipped || json.Unmarshal(raw, &shape) != nil || shape[key] == nil {
				continue
			}
			var v T
			if err := json.Unmarshal(raw, &v); err != nil {
				err = Bad("result of %q has %q and is not what this step reads: %v", id, key, err)
				if !yield(v, err) {
					return
				}
				continue
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// unquote unwraps an object that travelled as text.
func unquote(raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return json.RawMessage(s)
	}
	return raw
}

func clip(raw []byte) string {
	if len(raw) > 80 {
		return string(raw[:80]) + "…"
	}
	return string(raw)
}
