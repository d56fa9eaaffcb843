package agent

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/turn"
)

// equip opens the tools and puts into the workspace what came as files. It gives their paths inside.
func (r *run) equip(ctx context.Context) (paths []string, closing func(), err error) {
	r.tools = map[string]tool.Tool{}
	offer := func(t tool.Tool) {
		if slices.Contains(r.config.Tools, t.Name) {
			r.tools[t.Name] = t
		}
	}
	offer(r.web.Tool())
	if r.dir == "" {
		return nil, func() {}, nil
	}
	if paths, err = r.place(ctx); err != nil {
		return nil, nil, err
	}
	files, err := tool.OpenFiles(r.dir)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range files.Tools() {
		offer(t)
	}
	return paths, func() { _ = files.Close() }, nil // It was only read from and written to by path.
}

// place writes attachments, results that are files, and results that are too long to be shown.
func (r *run) place(ctx context.Context) (paths []string, err error) {
	w := r.task.Work
	put := func(folder, name string, content []byte) error {
		path, err := workspace.Place(r.dir, folder, name, content)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(r.dir, path)
		if err != nil {
			return fmt.Errorf("place %s: %w", name, err)
		}
		paths = append(paths, inside)
		return nil
	}
	fetch := func(folder, name string, ref events.Ref) error {
		content, err := r.task.Payload(ctx, ref)
		if err != nil {
			return err
		}
		return put(folder, name, content)
	}
	for _, id := range slices.Sorted(maps.Keys(w.Results)) {
		result := w.Results[id]
		switch {
		case result.Output == nil && result.OutputRef != nil:
			name := result.OutputRef.Name
			if name == "" {
				name = id
			}
			err = fetch("results", name, *result.OutputRef)
		case len(result.Output) > turn.MaxShown:
			err = put("results", id+".json", result.Output)
		}
		if err != nil {
			return nil, err
		}
	}
	for i, ref := range w.Attachments {
		name := ref.Name
		if name == "" {
			name = "attachment-" + strconv.Itoa(i+1)
		}
		if err := fetch("attachments", name, ref); err != nil {
			return nil, err
		}
	}
	return paths, nil
}
