package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/internal/history"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// variation is what a fork does otherwise than the job that it was made of, at one SubJob.
type variation struct {
	before                        string
	model, expert, prompt, result string
	value                         json.RawMessage // The result, as JSON.
}

func (v *variation) declare(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&v.before, "before", "", "run this SubJob, and all that follows from it, again; every other result is kept")
	f.StringVar(&v.model, "model", "", "with --before: the model of the experts that run")
	f.StringVar(&v.expert, "expert", "", "with --before: the expert of that SubJob")
	f.StringVar(&v.prompt, "prompt", "", "with --before: the goal of that SubJob, a text or @FILE")
	f.StringVar(&v.result, "result", "", "with --before: the result of that SubJob, JSON, a text or @FILE; it does not run")
}

// read checks the flags against the job, and reads the files that they name.
func (v *variation) read(a *app, h *history.History) error {
	if v.before == "" {
		for _, given := range []struct{ flag, value string }{{"model", v.model}, {"expert", v.expert}, {"prompt", v.prompt}, {"result", v.result}} {
			if given.value != "" {
				return usageError{fmt.Errorf("--%s says what one SubJob does otherwise: name it with --before", given.flag)}
			}
		}
		return nil
	}
	if v.result != "" && (v.expert != "" || v.prompt != "") {
		return usageError{fmt.Errorf("--result: SubJob %s does not run then, so --expert and --prompt say nothing", v.before)}
	}
	var ids []string
	for _, n := range h.Job.View().SubJobs {
		if present(n) {
			ids = append(ids, n.ID)
		}
	}
	if !slices.Contains(ids, v.before) {
		return notFound("subjob", v.before, host.Near(v.before, ids))
	}
	var err error
	if v.prompt, err = a.textOf(v.prompt); err != nil {
		return err
	}
	if v.result, err = a.textOf(v.result); err != nil || v.result == "" {
		return err
	}
	if v.value = json.RawMessage(v.result); !json.Valid(v.value) {
		v.value, err = json.Marshal(v.result)
	}
	return err
}

// textOf is a text, or what a file has when it is @FILE.
func (a *app) textOf(text string) (string, error) {
	path, file := strings.CutPrefix(text, "@")
	if !file {
		return text, nil
	}
	data, err := a.documents.file(path)
	return strings.TrimRight(string(data), "\n"), err
}

// again are the SubJobs whose results do not hold any more: the one that is varied, and all behind it.
func (v *variation) again(s *graph.State) map[string]bool {
	found := map[string]bool{}
	if v.before == "" {
		return found
	}
	found[v.before] = true
	for grown := true; grown; { // Predecessors may stand later in the list.
		grown = false
		for _, n := range s.SubJobs {
			behind := slices.ContainsFunc(n.Deps, func(at int32) bool { return found[s.SubJobs[at].ID] })
			if behind && !found[n.ID] {
				found[n.ID], grown = true, true
			}
		}
	}
	return found
}

// apply changes the SubJob that is varied, and reports whether it has its result by that.
func (v *variation) apply(id string, sub *events.SubJob) bool {
	if v.before == "" || id != v.before {
		return false
	}
	if v.expert != "" {
		sub.Expert = v.expert
	}
	if v.prompt != "" {
		sub.Goal = v.prompt
	}
	if v.value != nil {
		sub.When, sub.Schedule, sub.ExecutionRes = "", nil, v.value
	}
	return v.value != nil
}
