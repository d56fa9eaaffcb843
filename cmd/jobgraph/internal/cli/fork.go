package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/internal/history"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// forks are the commands that begin a job where another stood.
type forks struct{ app *app }

func (g forks) forkCommand() *cobra.Command {
	var at uint64
	var id string
	var v variation
	c := &cobra.Command{
		Use: "fork ID", Short: "Start a new job from any moment of another one; what was finished then is kept", Args: cobra.ExactArgs(1),
		Example: "  jobgraph fork last                                     # once more, without what is finished\n" +
			"  jobgraph fork last --before write --expert Reviewer    # another expert for one step, and what follows from it again\n" +
			"  jobgraph fork last --before write --result @draft.md   # as if that step had given this",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := g.app.form(); err != nil {
				return err
			}
			job, err := jobOf("fork", args[0], "jobgraph fork JOB begins a new job from all of it", "jobgraph rerun JOB/SUBJOB runs that one and its dependents again")
			if err != nil {
				return err
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				h, err := g.moment(ctx, c, job, at)
				if err == nil {
					err = v.read(g.app, h)
				}
				if err != nil {
					return err
				}
				return g.fork(ctx, c, h, id, &v)
			})
		},
	}
	c.Flags().Uint64Var(&at, "at-seq", 0, "the moment, as a sequence of the log; 0 for now")
	c.Flags().StringVar(&id, "id", "", "the new job's id; made up when not given")
	v.declare(c)
	return c
}

// moment folds a job up to a sequence of its log, 0 for all of it.
func (g forks) moment(ctx context.Context, c *client.Client, job string, at uint64) (*history.History, error) {
	h, err := g.app.look(ctx, c, target{job: job})
	if err != nil || at == 0 {
		return h, err
	}
	if first, last := h.Events[0].Seq, h.Events[len(h.Events)-1].Seq; at < first || at > last {
		return nil, usageError{fmt.Errorf("--at-seq %d: job %s begins at sequence %d and stands at %d", at, job, first, last)}
	}
	return history.Load(ctx, c, job, at)
}

func (g forks) fork(ctx context.Context, c *client.Client, h *history.History, id string, v *variation) error {
	if id == "" {
		var err error
		if id, err = client.NewID(); err != nil {
			return err
		}
	}
	s := h.Job.View()
	r := h.Request().Request
	r.ID = id
	labels := map[string]string{"forked_from": s.ID, "forked_at": fmt.Sprint(s.Seq)}
	for k, v := range r.Labels {
		if _, ours := labels[k]; !ours {
			labels[k] = v
		}
	}
	r.Labels = labels
	f := forker{history: h, from: s.ID, to: id, client: c, varied: *v, again: v.again(s)}
	if v.model != "" {
		r.Models = maps.Clone(r.Models)
		if r.Models == nil {
			r.Models = map[string]string{}
		}
		r.Models["expert"] = v.model
	}
	if plan := f.plan(ctx, s); plan != nil {
		text, err := json.Marshal(plan)
		if err != nil {
			return err
		}
		r.Plan, r.PlanRef = text, nil
	}
	if r.PlanRef != nil {
		f.copy(ctx, *r.PlanRef)
	}
	if r.InputsRef != nil {
		f.copy(ctx, *r.InputsRef)
	}
	for _, ref := range r.Attachments {
		f.copy(ctx, ref)
	}
	if f.err != nil {
		return fmt.Errorf("fork %s: %w", s.ID, f.err)
	}
	if _, err := c.Submit(ctx, r); err != nil {
		return err
	}
	g.app.note("forked at sequence %d: %d of %d SubJobs keep their result", s.Seq, f.kept, f.total)
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, map[string]any{"job_id": id, "forked_from": s.ID, "at_seq": s.Seq, "kept": f.kept, "total": f.total})
	}
	return g.app.printf("%s\n", id)
}

// forker makes the plan of the new job.
type forker struct {
	history     *history.History
	client      *client.Client
	from, to    string
	varied      variation
	again       map[string]bool // What is not kept, whatever came of it.
	kept, total int
	err         error // The first one.
}

// plan is the graph as it stood, with the results of what was finished; nil when there was none yet.
func (f *forker) plan(ctx context.Context, s *graph.State) *events.Plan {
	if s.PlanVersion == 0 {
		return nil
	}
	p := &events.Plan{Title: s.Title}
	names := renamed(s)
	read := map[string]bool{} // Whose results are read by conditions of what has still to run.
	for _, n := range s.SubJobs {
		if present(n) && n.When != "" && !f.finished(n) {
			for _, at := range n.Deps {
				read[s.SubJobs[at].ID] = true
			}
		}
	}
	for _, n := range s.SubJobs {
		if !present(n) {
			continue
		}
		sub, _ := f.history.Text(n.Spec)
		old := n.ID
		sub.ID, sub.Name, sub.Dependencies = names[old], "", nil
		sub.Expert, sub.Pool, sub.Pure, sub.ExpertName = n.Expert, "", false, ""
		for _, at := range n.Deps {
			if d := s.SubJobs[at]; present(d) {
				sub.Dependencies = append(sub.Dependencies, names[d.ID])
			}
		}
		f.total++
		if f.varied.apply(old, &sub) {
			f.kept++
		} else if f.finished(n) {
			f.keep(ctx, n, &sub, read[old])
		} else if sub.When != "" {
			var err error
			sub.When, err = f.condition(s, n, sub.When, names)
			f.fail(err)
		}
		p.SubJobs = append(p.SubJobs, sub)
	}
	return p
}

// finished reports whether the new job takes the result of a node.
func (f *forker) finished(n *graph.SubJobState) bool {
	return n.Status == events.Finished && !f.again[n.ID]
}

// present reports whether a node belongs to the graph as it stands.
func present(n *graph.SubJobState) bool {
	return n.ID != events.PlanID && n.ID != events.FinalID && n.Status != events.Legacy
}

// keep hands a result on, empty where there is none: a skipped step is not looked at again.
func (f *forker) keep(ctx context.Context, n *graph.SubJobState, sub *events.SubJob, inline bool) {
	f.kept++
	sub.When, sub.Schedule = "", nil
	result, ref := f.history.Result(n)
	sub.ExecutionRes, sub.ExecutionRef, sub.Artifacts = result, ref, nil
	for _, file := range f.history.Artifacts(n.ID) {
		f.copy(ctx, file.Ref)
		sub.Artifacts = append(sub.Artifacts, file.Ref)
	}
	switch {
	case ref != nil && inline:
		data, err := f.client.Blob(ctx, f.from, *ref)
		if err != nil {
			f.fail(err)
			return
		}
		sub.ExecutionRes, sub.ExecutionRef = data, nil
	case ref != nil:
		f.copy(ctx, *ref)
	}
	if sub.ExecutionRef == nil && (len(sub.ExecutionRes) == 0 || string(sub.ExecutionRes) == "null") {
		sub.ExecutionRes = json.RawMessage(`""`) // A plan takes null for no result; conditions find nothing in either.
	}
}

// copy takes a blob over to the new job.
func (f *forker) copy(ctx context.Context, ref events.Ref) {
	data, err := f.client.Blob(ctx, f.from, ref)
	if err == nil {
		_, err = f.client.Bus().Blobs().Put(ctx, f.to, data)
	}
	f.fail(err)
}

func (f *forker) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// renamed gives spliced nodes, whose ids no plan may choose, ids that one may.
func renamed(s *graph.State) map[string]string {
	taken := map[string]bool{}
	for _, n := range s.SubJobs {
		taken[n.ID] = true
	}
	names := map[string]string{}
	for _, n := range s.SubJobs {
		name := n.ID
		if strings.Contains(name, "~") && present(n) {
			base := strings.ReplaceAll(name, "~", "-")
			if len(base) > events.MaxID-6 {
				base = base[:events.MaxID-6]
			}
			name = base
			for i := 2; taken[name]; i++ {
				name = fmt.Sprintf("%s-%d", base, i)
			}
			taken[name] = true
		}
		names[n.ID] = name
	}
	return names
}
