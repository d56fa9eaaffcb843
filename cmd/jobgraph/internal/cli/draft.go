package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/history"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/render"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

func (a *app) planDraftCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: "draft GOAL… | draft -f JOB", Short: "Plan without running: print the plan that a job would have",
		Long: "Draft plans a job in a stack of its own, in which nobody carries steps out, and prints the plan as JSON (-o yaml).\n" +
			"It plans for the experts of --experts and of the folder experts/ beside the job file, else for those on the bus, with\n" +
			"the model of --model and the settings. Nothing is kept; `run --plan FILE` runs it.",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.form(); err != nil {
				return err
			}
			r, err := a.request(&f.asked, args)
			if err != nil {
				return err
			}
			return a.planDraft(r, &f)
		},
	}
	f.declare(c)
	c.Flags().StringArrayVar(&f.experts, "experts", nil, "expert card, or folder of them; repeatable")
	return c
}

// planDraft plans a job where nobody works, and prints the plan.
func (a *app) planDraft(r events.Request, f *runFlags) error {
	s := a.stackForRun(f)
	s.PlanOnly = true
	if len(s.Experts) == 0 {
		cards, err := a.cardsOnBus()
		if err != nil {
			return err
		}
		s.Cards = cards
	}
	k, err := stack.Start(a.hard, s)
	if err != nil {
		return err
	}
	free := a.bind(k)
	err = a.draftOn(k, r)
	free()
	return a.unbound(err, k.Stop())
}

// cardsOnBus are the experts of a bus that answers, none when nobody does.
func (a *app) cardsOnBus() ([]events.Card, error) {
	c, err := a.answering()
	if err != nil || c == nil {
		return nil, err
	}
	defer c.Close()
	return c.Experts(a.soft)
}

// draftOn has a job planned. Nobody is there to be asked, nor to look around first: the plan is what is shown.
func (a *app) draftOn(k *stack.Stack, r events.Request) error {
	c, err := client.Connect(a.soft, k.Options())
	if err != nil {
		return err
	}
	defer c.Close()
	yes, no := true, false
	r.AutoAccept, r.Investigate = &yes, &no
	id, err := c.Submit(a.soft, r)
	if err != nil {
		return err
	}
	h := history.New()
	for e, err := range c.Watch(a.soft, id, 0) {
		if err != nil {
			return err
		}
		if err := h.Step(e); err != nil {
			return err
		}
		if done, err := a.drafted(c, h, e); done || err != nil {
			return err
		}
	}
	return context.Cause(a.soft)
}

// drafted prints the plan once it is there; done is true also when there will be none.
func (a *app) drafted(c *client.Client, h *history.History, e events.Event) (done bool, err error) {
	switch data := e.Data.(type) {
	case *events.GraphCreated:
		for _, w := range data.Warnings {
			a.note("warning: %s", reason(&w))
		}
		form := "json"
		if a.machine() {
			form = a.output
		}
		return true, render.Value(a.sys.Stdout, form, data.Plan)
	case *events.InputRequested:
		return a.draftAsks(c, e.Job, data)
	}
	if !over(h) {
		return false, nil
	}
	s := h.Job.View()
	if s.Status == events.Finished {
		return true, &events.Fault{
			Code: events.CodeRejected, Field: "goal", Message: "there is no plan: the planner answers by itself", Cause: short(readable(a.result(h, c)), 400),
			Hint: "jobgraph run gives the answer; another --profile may plan",
		}
	}
	if s.Error != nil && !a.machine() {
		a.complain(reason(s.Error))
	} else if s.Error != nil {
		if err := render.Value(a.sys.Stdout, a.output, s.Error); err != nil {
			return true, err
		}
	}
	return true, a.ended(h)
}

// draftAsks accepts a plan that is to be reviewed, for it is only shown. What else is asked needs a person.
func (a *app) draftAsks(c *client.Client, job string, asked *events.InputRequested) (done bool, err error) {
	if asked.Kind == events.InputReview {
		return false, c.Answer(a.soft, job, asked.Request, map[string]string{"action": "accept"}, asked.User)
	}
	if asked.Kind == events.InputTimer {
		return false, nil
	}
	a.complain(fmt.Sprintf("the planner asks before it plans: %s\n  → say it in the goal or in context, or run the job and answer", render.Visible(asked.Prompt)))
	return true, outcome(ExitWaiting)
}
