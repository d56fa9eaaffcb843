package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// forks are the commands that fork and compare jobs.
type forks struct{ app *app }

func (g forks) forkCommand() *cobra.Command {
	var at uint64
	var f joblog.Fork
	var result string
	c := &cobra.Command{
		Use: "fork ID", Short: "Start a new job from any point of another one, keeping what was finished by then", Args: cobra.ExactArgs(1),
		Example: "  # Once more, without what is finished\n  jobgraph fork last\n" +
			"  # Another expert for one step; what follows from it runs again\n  jobgraph fork last --before write --expert Reviewer\n" +
			"  # As if that step had given this\n  jobgraph fork last --before write --result @draft.md",
		RunE: func(_ *cobra.Command, args []string) error {
			job, err := jobOf("fork", args[0], "jobgraph fork JOB begins a new job from all of it", "jobgraph rerun JOB/SUBJOB runs that one and its dependents again")
			if err != nil {
				return err
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				log, err := g.moment(ctx, c, job, at)
				if err == nil {
					err = g.read(&f, result, log)
				}
				if err != nil {
					return err
				}
				return g.fork(ctx, c, log, f)
			})
		},
	}
	flags := c.Flags()
	flags.Uint64Var(&at, "at-seq", 0, "the moment, as a sequence of the log; 0 for now")
	flags.Var(newID{&f.ID}, "id", "the new job's id; made up when not given")
	flags.StringVar(&f.Before, "before", "", "run this SubJob and its dependents again; keep every other result")
	flags.StringVar(&f.Model, "model", "", "with --before: the model of the experts that run")
	flags.StringVar(&f.Expert, "expert", "", "with --before: the expert of that SubJob")
	flags.StringVar(&f.Prompt, "prompt", "", "with --before: the goal of that SubJob, a text or @FILE")
	flags.StringVar(&result, "result", "", "with --before: the result of that SubJob, JSON, a text or @FILE; it does not run")
	return c
}

// moment folds a job up to a sequence of its log; 0 means all of it.
func (g forks) moment(ctx context.Context, c *client.Client, job string, at uint64) (*joblog.Log, error) {
	log, err := g.app.look(ctx, c, target{job: job})
	if err != nil || at == 0 {
		return log, err
	}
	if first, last := log.Events[0].Seq, log.Last(); at < first || at > last {
		return nil, usageError{fmt.Errorf("--at-seq %d: job %s has sequences %d to %d", at, job, first, last)}
	}
	return c.Logs().Fold(ctx, job, at)
}

// read checks the flags against the job and reads the files that they name.
func (g forks) read(f *joblog.Fork, result string, log *joblog.Log) error {
	if f.Before == "" {
		for _, given := range []struct{ flag, value string }{{"model", f.Model}, {"expert", f.Expert}, {"prompt", f.Prompt}, {"result", result}} {
			if given.value != "" {
				return usageError{fmt.Errorf("--%s says what one SubJob does otherwise: name it with --before", given.flag)}
			}
		}
		return nil
	}
	if result != "" && (f.Expert != "" || f.Prompt != "") {
		return usageError{fmt.Errorf("--result: SubJob %s does not run then, so --expert and --prompt say nothing", f.Before)}
	}
	if n := log.Node(f.Before); log.Job.View().PlanVersion > 0 && (n == nil || !joblog.InGraph(n)) {
		return notFound("SubJob", f.Before, host.Near(f.Before, log.IDs()), "jobgraph graph "+log.Job.ID)
	}
	var err error
	if f.Prompt, err = g.textOf(f.Prompt); err != nil {
		return err
	}
	if result, err = g.textOf(result); err != nil || result == "" {
		return err
	}
	if f.Result = json.RawMessage(result); !json.Valid(f.Result) {
		f.Result, err = json.Marshal(result)
	}
	return err
}

// textOf returns a text, or the contents of the file for @FILE.
func (g forks) textOf(text string) (string, error) {
	path, file := strings.CutPrefix(text, "@")
	if !file {
		return text, nil
	}
	data, err := g.app.documents.file(path)
	return strings.TrimRight(string(data), "\n"), err
}

func (g forks) fork(ctx context.Context, c *client.Client, log *joblog.Log, f joblog.Fork) error {
	made, err := c.Logs().Fork(ctx, log, f)
	if err != nil {
		return err
	}
	for _, key := range []string{"forked_from", "forked_at"} {
		if made.Request.Labels[key] == "" {
			g.app.note("label %s is left out: a job has at most %d labels", key, events.MaxLabels)
		}
	}
	g.app.note("forked at sequence %d: %d of %d SubJobs keep their result", made.At, made.Kept, made.Total)
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, map[string]any{
			"job_id": made.Request.ID, "forked_from": made.From, "at_seq": made.At, "kept": made.Kept, "total": made.Total,
		})
	}
	return g.app.printf("%s\n", made.Request.ID)
}
