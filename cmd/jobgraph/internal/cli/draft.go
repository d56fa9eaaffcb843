package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

func (g runs) planDraftCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: "draft GOAL… | draft -f JOB", Short: "Plan without running: print the plan that a job would have",
		Long: "Draft plans a job in a separate stack, in which no step is executed, and prints the plan as JSON (-o yaml).\n" +
			"It plans for the experts of --experts and of the folder experts/ beside the job file, else for those on the bus, with\n" +
			"the model of --model and the settings. Nothing is kept; `run --plan FILE` runs it.",
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := g.app.documents.request(&f.asked, args)
			if err != nil {
				return err
			}
			return g.planDraft(r, &f)
		},
	}
	f.declare(c)
	c.Flags().StringArrayVar(&f.experts, "experts", nil, "expert card, or folder of them; repeatable")
	return c
}

// planDraft plans a job without executing any step, and prints the plan.
func (g runs) planDraft(r events.Request, f *runFlags) error {
	s := g.stackForRun(f)
	s.PlanOnly = true
	if dir := besideExperts(f.file); dir != "" { // Nothing of them is run: their cards are only read.
		s.Experts = append(s.Experts, dir)
	}
	if len(s.Experts) == 0 {
		cards, err := g.cardsOnBus()
		if err != nil {
			return err
		}
		s.Cards = cards
	}
	k, err := stack.Start(g.app.hard, s)
	if err != nil {
		return err
	}
	free := g.bind(k)
	err = g.draftOn(k, r)
	free()
	return g.unbound(err, k.Stop())
}

// cardsOnBus returns the experts of a running bus, or none.
func (g runs) cardsOnBus() ([]events.Card, error) {
	c, err := g.answering()
	if err != nil || c == nil {
		return nil, err
	}
	defer c.Close()
	return c.Experts().List(g.app.soft)
}

// draftOn plans a job without questions to people and without investigations.
func (g runs) draftOn(k *stack.Stack, r events.Request) error {
	c, err := client.Connect(g.app.soft, k.Options())
	if err != nil {
		return err
	}
	defer c.Close()
	yes, no := true, false
	r.AutoAccept, r.Investigate = &yes, &no
	id, err := c.Submit(g.app.soft, r)
	if err != nil {
		return err
	}
	h := joblog.New()
	for e, err := range c.Watch(g.app.soft, id, 0) {
		if err != nil {
			return err
		}
		if err := h.Step(e); err != nil {
			return err
		}
		if done, err := g.drafted(c, h, e); done || err != nil {
			return err
		}
	}
	return context.Cause(g.app.soft)
}

// drafted prints the plan once it exists; done is also true if there will be none.
func (g runs) drafted(c *client.Client, h *joblog.Log, e events.Event) (done bool, err error) {
	switch data := e.Data.(type) {
	case *events.GraphCreated:
		for _, w := range data.Warnings {
			g.app.note("warning: %s", reason(&w))
		}
		form := "json"
		if g.app.machine() {
			form = g.app.output
		}
		return true, output.Value(g.app.sys.Stdout, form, data.Plan)
	case *events.InputRequested:
		return g.draftAsks(c, e.Job, data)
	}
	if !over(h) {
		return false, nil
	}
	s := h.Job.View()
	if s.Outcome == events.OutcomeGuidance {
		return true, &events.Fault{
			Code: events.CodeGuidance, Field: "goal", Message: "there is no plan: the request could not be planned", Cause: short(readable(g.app.views.result(h, c)), 400),
			Hint: "say what is missing, and draft it again",
		}
	}
	if s.Status == events.Finished {
		return true, &events.Fault{
			Code: events.CodeRejected, Field: "goal", Message: "there is no plan: the planner answers by itself", Cause: short(readable(g.app.views.result(h, c)), 400),
			Hint: "jobgraph run gives the answer; another --profile may plan",
		}
	}
	if s.Error != nil && !g.app.machine() {
		g.app.complain(reason(s.Error))
	} else if s.Error != nil {
		if err := output.Value(g.app.sys.Stdout, g.app.output, s.Error); err != nil {
			return true, err
		}
	}
	return true, g.app.views.ended(h)
}

// draftAsks accepts a plan in review, since it is only printed. Any other question needs a person.
func (g runs) draftAsks(c *client.Client, job string, asked *events.InputRequested) (done bool, err error) {
	if asked.Kind == events.InputReview {
		return false, c.Answer(g.app.soft, job, asked.Request, map[string]string{"action": "accept"}, asked.User)
	}
	if asked.Kind == events.InputTimer {
		return false, nil
	}
	g.app.complain(fmt.Sprintf("the planner asks before it plans: %s\n  → say it in the goal or in context, or run the job and answer", output.Visible(asked.Prompt)))
	return true, outcome(ExitWaiting)
}
