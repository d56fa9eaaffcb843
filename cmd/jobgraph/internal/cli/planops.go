package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
)

// draftPrefix before a name, instead of a plan file, selects a stored plan document.
const draftPrefix = "draft:"

// operations returns the commands on stored plan documents and on the graphs of jobs.
func (g plans) operations() []*cobra.Command {
	return []*cobra.Command{
		g.writeCommand("create", "Keep a plan: a list of steps, or a graph from a file"),
		g.writeCommand("update", "Change a stored plan, or the graph of a job; steps that stay keep their marks"),
		g.operation("list", "List the stored plans", cobra.NoArgs, nil),
		g.operation("get [PLAN|JOB]", "Show a stored plan, or the graph of a job, with its marks", cobra.MaximumNArgs(1), nil),
		g.operation("set-active PLAN|JOB", "Choose the plan that get and mark mean when they name none", cobra.ExactArgs(1), nil),
		g.markCommand(),
		g.operation("delete PLAN", "Remove a stored plan", cobra.ExactArgs(1), nil),
	}
}

// operation makes the command of one operation; fill sets its fields from flags and arguments.
func (g plans) operation(use, short string, args cobra.PositionalArgs, fill func(op *client.PlanOperation, args []string) error) *cobra.Command {
	var book string
	c := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			op := client.PlanOperation{Command: planCommands[cmd.Name()], Book: book}
			if fill == nil && len(args) > 0 {
				op.PlanID = args[0]
			}
			if fill != nil {
				if err := fill(&op, args); err != nil {
					return err
				}
			}
			return g.operate(op)
		},
	}
	c.Flags().StringVar(&book, "book", "", "the book that holds the plan (main)")
	return c
}

// planCommands maps operations to the names of their commands.
var planCommands = map[string]string{
	"create": "create", "update": "update", "list": "list", "get": "get", "set-active": "set_active", "mark": "mark_step", "delete": "delete",
}

func (g plans) operate(op client.PlanOperation) error {
	return g.app.with(func(ctx context.Context, c *client.Client) error {
		answer, err := c.Plan(ctx, op)
		if err != nil {
			return g.asTyped(err)
		}
		switch {
		case g.app.machine():
			return output.Value(g.app.sys.Stdout, g.app.output, answer)
		case g.app.output == "name":
			return g.names(answer)
		}
		return g.app.printf("%s\n", output.Clean(strings.TrimSuffix(answer.Text, "\n")))
	})
}

// names prints the id of the plan, or those of all plans.
func (g plans) names(answer client.PlanAnswer) error {
	list := answer.Plans
	if answer.Plan != nil {
		list = append(list, *answer.Plan)
	}
	for _, p := range list {
		if err := g.app.printf("%s\n", output.Clean(p.ID)); err != nil {
			return err
		}
	}
	return nil
}

// planWords are the words of this program for those of the API.
var planWords = strings.NewReplacer("plan_id", "PLAN", "step_index", "STEP", "step_id", "STEP", "step_status", "STATUS", "step_notes", "--notes", "set_active", "set-active", "mark_step", "mark")

// asTyped puts faults about a plan into the words that are typed here; programs get those of the API.
func (g plans) asTyped(err error) error {
	faults := slices.Clone(faultsOf(err))
	if len(faults) == 0 || g.app.machine() {
		return err
	}
	for i := range faults {
		f := &faults[i]
		f.Message, f.Hint = planWords.Replace(f.Message), planWords.Replace(f.Hint)
		if f.Field = planWords.Replace(f.Field); f.Field == "title" {
			f.Field = "--title"
		}
	}
	return faults
}

func (g plans) writeCommand(name, short string) *cobra.Command {
	var title, file string
	var steps []string
	c := g.operation(name+" PLAN", short, cobra.ExactArgs(1), func(op *client.PlanOperation, args []string) error {
		op.PlanID, op.Title, op.Steps = args[0], title, steps
		if file == "" {
			return nil
		}
		raw, err := g.read(file)
		op.Plan = raw
		return err
	})
	if name == "update" {
		c.Use = "update PLAN|JOB"
	}
	c.Flags().StringVar(&title, "title", "", "the heading")
	c.Flags().StringArrayVar(&steps, "step", nil, "a step, with its [TAG] in front if it has one; repeatable, in order")
	c.Flags().StringVarP(&file, "file", "f", "", "a graph in any dialect in place of steps; - reads standard input")
	return c
}

func (g plans) markCommand() *cobra.Command {
	var notes string
	c := g.operation("mark [PLAN|JOB] STEP [STATUS]", "Mark a step: not_started, in_progress, completed or blocked", cobra.RangeArgs(1, 3),
		func(op *client.PlanOperation, args []string) error {
			if last := args[len(args)-1]; len(args) > 1 && isMark(last) {
				op.StepStatus, args = markOf(last), args[:len(args)-1]
			}
			switch {
			case len(args) == 3:
				return noMark(args[2])
			case len(args) == 2:
				op.PlanID, args = args[0], args[1:]
			}
			if n, err := strconv.Atoi(args[0]); err == nil {
				op.StepIndex = &n
			} else {
				op.StepID = args[0]
			}
			if notes != "" {
				op.StepNotes = &notes
			}
			return markless(op, args[0])
		})
	c.Long = "Mark a step of a stored plan, by its number, or of the graph of a job, by its number or its SubJob.\n\n" +
		"Of a job, not_started has a step done again, in_progress has a blocked one tried again, completed gives it the\n" +
		"notes as its result, and blocked fails it and stops what depends on it. A worker that is at it reports in vain."
	c.Flags().StringVar(&notes, "notes", "", "notes on the step")
	return c
}

// markOf converts a mark to the form of the API; case and hyphens do not matter.
func markOf(text string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), "-", "_")
}

// markless returns an error for an operation without a mark. Of a number and a word, the word was meant as the mark.
func markless(op *client.PlanOperation, step string) error {
	if op.StepStatus != "" || op.StepNotes != nil {
		return nil
	}
	if _, err := strconv.Atoi(op.PlanID); err == nil && op.StepID != "" {
		return noMark(op.StepID)
	}
	return usageError{fmt.Errorf("nothing to mark step %s with: give not_started, in_progress, completed or blocked, or --notes", step)}
}

func isMark(text string) bool {
	switch markOf(text) {
	case "not_started", "in_progress", "completed", "blocked":
		return true
	}
	return false
}

func noMark(text string) error {
	return usageError{fmt.Errorf("%q is no status: use not_started, in_progress, completed or blocked", text)}
}

// show prints the graph of a job as a plan with its marks.
func (g plans) show(arg string) error {
	g.app.output = ""
	return g.app.views.see(arg, func(h *joblog.Log, _ *client.Client) error {
		text, err := planner.PlanText(h.Events)
		if err != nil {
			return err
		}
		return g.app.printf("%s", output.Clean(text))
	})
}
