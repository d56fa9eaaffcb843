package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/modelcheck"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/llm"
)

// The goal that each profile plans, and how long it may take.
const (
	checkGoal  = "Compare trains and buses for a trip from Berlin to Prague, and recommend one in a short text."
	checkBound = 3 * time.Minute
)

// modelReport is the result of model check.
type modelReport struct {
	Model    string             `json:"model"`
	Trials   []modelcheck.Trial `json:"trials"`
	Profiles []string           `json:"profiles"`
	Tokens   int64              `json:"tokens"`
	CostUSD  float64            `json:"cost_usd"`
	Error    *events.Fault      `json:"error,omitempty"`
}

func (g operations) modelCheckCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: "check", Short: "Try what a model can do, and which profiles fit it", Args: cobra.NoArgs,
		Long: "Check makes real calls, which cost money: text, a stream, a tool, an answer in a given form, and a plan in each profile. No step of\n" +
			"a plan is executed. It exits with 0 if all of them work, 1 if some do not; if no call can succeed, the exit code says why:\n" +
			"8 for a key that is refused, 7 for an account without credit, 5 for an unknown model, 69 for a provider that does not answer.",
		RunE: func(*cobra.Command, []string) error { return g.checkModel(&f) },
	}
	c.Flags().StringVar(&f.model, "model", "", "the model to try (default: the one that a run would use)")
	f.folder.declare(c.Flags())
	return c
}

func (g operations) checkModel(f *runFlags) error {
	runs := g.app.runs
	s := runs.stackForRun(f)
	if err := runs.addFolder(&s, &f.folder, false); err != nil {
		return err
	}
	if g.app.sys.Typing && !g.app.noInput && !s.HasModel() {
		runs.addLocal(&s)
	}
	if !s.HasModel() {
		return &events.Fault{
			Code: events.CodeMissing, Field: "model", Message: "there is no model to try",
			Hint: "set the key of a provider (OPENAI_API_KEY, ANTHROPIC_API_KEY …), start Ollama or llama.cpp, or try the scripted one with --model fake",
		}
	}
	engine, name, err := s.Engine()
	if err != nil {
		return err
	}
	defer engine.Close()
	c := modelReport{Model: name, Profiles: []string{}}
	c.Trials, err = modelcheck.Run(g.app.soft, engine, name)
	if err == nil {
		err = g.checkProfiles(&s, &c)
	} else if fault := llm.Fault(err); g.app.soft.Err() == nil {
		c.Error, err = &fault, nil
	}
	if err != nil {
		return err
	}
	for _, t := range c.Trials {
		c.Tokens += t.Tokens
		c.CostUSD += t.CostUSD
	}
	return g.writeChecked(&c)
}

// checkProfiles makes each profile plan the same goal, in a stack that runs no experts.
func (g operations) checkProfiles(s *stack.Settings, c *modelReport) error {
	s.PlanOnly = true
	k, err := stack.Start(g.app.hard, *s)
	if err != nil {
		return err
	}
	free := g.app.runs.bind(k)
	caller, err := client.Connect(g.app.soft, k.Options())
	if err == nil {
		for _, profile := range []string{"default", "graph", "assistant", "research", "steps"} {
			t, err := planIn(g.app.soft, caller, profile)
			if err != nil {
				t.Note = err.Error()
			}
			if c.Trials = append(c.Trials, t); t.Works {
				c.Profiles = append(c.Profiles, profile)
			}
		}
		caller.Close()
	}
	free()
	return g.app.runs.unbound(err, k.Stop())
}

// planIn makes one profile plan the goal.
func planIn(ctx context.Context, c *client.Client, profile string) (modelcheck.Trial, error) {
	t := modelcheck.Trial{Name: "plan " + profile}
	ctx, cancel := context.WithTimeoutCause(ctx, checkBound, fmt.Errorf("no plan within %s", checkBound))
	defer cancel()
	yes, no := true, false
	id, err := c.Submit(ctx, events.Request{Goal: checkGoal, Profile: profile, AutoAccept: &yes, Investigate: &no, Unattended: &yes})
	if err != nil {
		return t, err
	}
	h := joblog.New()
	for e, err := range c.Watch(ctx, id, 0) {
		if err == nil {
			err = h.Step(e)
		}
		if err != nil {
			return t, err
		}
		v := h.Job.View()
		t.Tokens, t.CostUSD = v.Cost.Tokens, v.Cost.CostUSD
		switch data := e.Data.(type) {
		case *events.GraphCreated:
			if data.Fallback != "" { // The plan is a fallback, not the model's.
				t.Note = "its answer is no plan that works"
				if len(data.Warnings) > 0 {
					t.Note = "its answer is no plan: " + reason(&data.Warnings[len(data.Warnings)-1])
				}
				return t, nil
			}
			t.Works, t.Note = true, fmt.Sprintf("%d steps", len(data.Plan.SubJobs))
			return t, nil
		case *events.InputRequested:
			if data.Kind != events.InputReview {
				t.Note = "it asks instead of planning: " + short(data.Prompt, 120)
				return t, nil
			}
			if err := c.Answer(ctx, id, data.Request, map[string]string{"action": "accept"}, data.User); err != nil {
				return t, err
			}
		}
		if over(h) {
			if t.Note = "it answers by itself and plans nothing"; v.Error != nil {
				t.Note = reason(v.Error)
			}
			return t, nil
		}
	}
	return t, context.Cause(ctx)
}

// writeChecked prints the trials and returns the error for the exit code.
func (g operations) writeChecked(c *modelReport) error {
	table := output.Table{Head: []string{"TRIAL", "WORKS", "TOKENS", "USD", "NOTE"}}
	failed := false
	for _, t := range c.Trials {
		works := "yes"
		if !t.Works {
			works, failed = "no", true
		}
		usd := "-"
		if t.CostUSD > 0 {
			usd = fmt.Sprintf("%.4f", t.CostUSD)
		}
		table.Rows = append(table.Rows, output.Row{Name: t.Name, Cells: []string{t.Name, works, fmt.Sprint(t.Tokens), usd, short(t.Note, 200)}, Value: t})
	}
	var err error
	if g.app.machine() {
		err = output.Value(g.app.sys.Stdout, g.app.output, c)
	} else if err = g.app.write(table); err == nil {
		usd := ""
		if c.CostUSD > 0 {
			usd = fmt.Sprintf(" and %.4f USD", c.CostUSD)
		}
		g.app.note("%s took %d tokens%s; a plan works in: %s", output.Visible(c.Model), c.Tokens, usd, cmp.Or(strings.Join(c.Profiles, ", "), "no profile"))
	}
	switch {
	case err != nil:
		return err
	case c.Error != nil && g.app.machine():
		return outcome(faultCode(events.Faults{*c.Error}))
	case c.Error != nil:
		return c.Error
	case failed:
		return outcome(ExitFailed)
	}
	return nil
}
