package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// equip opens the tools and copies the run's input files into the workspace. It returns their paths inside.
func (r *run) equip(ctx context.Context) (paths []string, closing func(), err error) {
	r.all = map[string]tool.Tool{}
	closing = func() {}
	if slices.ContainsFunc(r.config.Tools, r.config.benched) {
		r.bench, closing = r.config.Workbench.At(ctx, r.task, r.dir)
	}
	defer func() {
		if err != nil {
			closing()
		}
	}()
	if err := r.borrow(ctx); err != nil {
		return nil, closing, err
	}
	offer := func(t tool.Tool) {
		if slices.Contains(r.config.Tools, t.Name) {
			r.all[t.Name] = t
		}
	}
	offer(r.web.Tool())
	if r.config.Search != nil {
		offer(tool.Searching(r.config.Search, r.config.results()))
	}
	if r.config.Planner != nil {
		offer(r.config.Planner(r.task.Work))
	}
	for _, t := range tool.NewKnowledge(r.shelf).Tools() {
		offer(t)
	}
	offer(tool.NewRemember(r.memory()))
	if r.dir == "" {
		return nil, closing, nil
	}
	paths, shut, err := r.furnish(ctx, offer)
	if err != nil {
		return nil, closing, err
	}
	end := closing
	return paths, func() { end(); shut() }, nil
}

// furnish fills the workspace and opens the runner's own tools for it.
func (r *run) furnish(ctx context.Context, offer func(tool.Tool)) (paths []string, shut func(), err error) {
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
	if r.config.Programs == nil && r.bench == nil {
		return paths, func() { _ = files.Close() }, nil // They were only used to open files by path.
	}
	if r.tracker, err = workspace.Track(r.dir, r.task.Keep); err != nil {
		return nil, nil, errors.Join(err, files.Close())
	}
	if r.config.Programs != nil {
		offer(r.programs())
	}
	return paths, func() { _ = errors.Join(files.Close(), r.tracker.Close()) }, nil
}

// borrow opens the tools of toolboxes and lists all tools of the agent in the order of the card.
func (r *run) borrow(ctx context.Context) error {
	for _, name := range r.config.Tools {
		box := r.config.boxOf(name)
		if r.config.benched(name) {
			box = r.bench
		}
		if box == nil {
			r.listed = append(r.listed, name)
			continue
		}
		tools, err := box.Open(ctx, []string{name})
		if err != nil {
			return err
		}
		for i := range tools {
			if _, twice := r.all[tools[i].Name]; !twice {
				r.listed = append(r.listed, tools[i].Name)
				r.all[tools[i].Name] = tools[i]
			}
		}
	}
	return r.keep(ctx)
}

// toolsKey is the effect that records the definitions of toolbox tools at the beginning of the conversation.
const toolsKey = "tools"

// keep compares toolbox tools with their definitions at the beginning of the conversation: a runner that takes over
// continues with the same tools or not at all.
func (r *run) keep(ctx context.Context) error {
	now := map[string]string{}
	for name := range r.all { // any order: the result is a map.
		if d := r.all[name].Digest; d != "" {
			now[name] = d
		}
	}
	if len(now) == 0 {
		return nil
	}
	raw, err := r.task.Hand.Do(ctx, expert.Effect{Key: toolsKey, Name: toolsKey, Safe: true}, func(context.Context) (json.RawMessage, error) {
		return json.Marshal(now)
	})
	if err != nil {
		return err
	}
	begun := map[string]string{}
	if err := json.Unmarshal(raw, &begun); err != nil {
		return fmt.Errorf("read the kept tools: %w", err)
	}
	changed := differing(begun, now)
	if len(changed) == 0 {
		return nil
	}
	return &events.Fault{
		Code: events.CodeConflict, Field: "tools", Message: "tools were changed by their servers since the conversation began: " + strings.Join(changed, ", "),
		Hint: "a retry begins another conversation, with the tools as they are now; a pin refuses them (mcpServers.NAME.pin)",
	}
}

// differing returns the keys whose values differ, sorted.
func differing(a, b map[string]string) []string {
	var keys []string
	for key := range a { // any order: sorted below.
		if b[key] != a[key] {
			keys = append(keys, key)
		}
	}
	for key := range b { // any order: sorted below.
		if _, there := a[key]; !there {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// place writes attachments, results that are files, and results that are too long for the prompt into the workspace.
func (r *run) place(ctx context.Context) (paths []string, err error) {
	w := r.task.Work
	if err := workspace.Collision(w.Results); err != nil {
		return nil, err
	}
	put := func(folder, name string, write func(w io.Writer) error) error {
		path, _, err := workspace.Receive(r.dir, folder, name, write)
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
		return put(folder, name, func(w io.Writer) error { return r.task.Payload(ctx, ref, w) })
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
		case len(result.Output) > conversation.MaxShown:
			err = put("results", id+".json", func(w io.Writer) error {
				_, err := w.Write(result.Output)
				return err
			})
		}
		for i := 0; err == nil && i < len(result.Artifacts); i++ {
			ref := result.Artifacts[i]
			err = fetch(workspace.ArtifactFolder(id, ref.Name), ref.Name, ref)
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
		if err := fetch(workspace.AttachmentFolder(name), name, ref); err != nil {
			return nil, err
		}
	}
	return paths, nil
}
