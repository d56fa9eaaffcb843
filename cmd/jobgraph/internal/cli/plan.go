package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
)

// plans are the commands about plans: check, diff, draw, and the stored plan documents.
type plans struct{ app *app }

func (g plans) command() *cobra.Command {
	c := group("plan", "Draft, check, compare, keep and mark plans", g.app.runs.planDraftCommand(), g.checkCommand(), g.diffCommand(), g.templateCommand())
	c.AddCommand(g.operations()...)
	return c
}

func (g plans) checkCommand() *cobra.Command {
	var experts []string
	var maxSteps int
	c := &cobra.Command{
		Use: "check FILE", Short: "Check a plan in any dialect, or a job file with one; list every fault with its position", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			raw, err := g.read(args[0])
			if err != nil {
				return err
			}
			cards, err := g.cardsFor(args[0], experts)
			if err != nil {
				return err
			}
			return g.check(raw, cards, maxSteps)
		},
	}
	c.Flags().StringArrayVar(&experts, "experts", nil, "expert card, or folder of them; repeatable (default: experts/ beside the file, else those on the bus)")
	c.Flags().IntVar(&maxSteps, "max-steps", 0, "maximum number of steps; 0 for no limit")
	return c
}

// check prints the plan in native form, or fails with all faults.
func (g plans) check(raw []byte, cards []events.Card, maxSteps int) error {
	known := cards != nil
	if !known {
		g.app.note("no experts are known here: they are not checked (--experts FOLDER)")
		cards = standIns(raw)
	}
	plan, faults, warnings := planner.Check(raw, cards, maxSteps)
	for _, w := range warnings {
		g.app.note("warning: %s", reason(&w))
	}
	if len(faults) > 0 {
		return usageError{faults}
	}
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, plan)
	}
	return g.app.printf("the plan is good: %d SubJobs\n", len(plan.SubJobs))
}

// sound rejects a request whose plan is invalid whatever experts exist; experts may come and go until it runs.
func (g plans) sound(r *events.Request) error {
	_, faults, _ := planner.Check(r.Plan, standIns(r.Plan), 0)
	faults = slices.DeleteFunc(faults, func(f events.Fault) bool { return f.Code == events.CodeUnknownExpert })
	for i := range faults {
		faults[i].Field = strings.TrimSuffix("plan."+faults[i].Field, ".")
	}
	if len(faults) > 0 {
		return usageError{faults}
	}
	g.weigh(r)
	return nil
}

// weigh says what the expert of a request does if the request also has a plan.
func (g plans) weigh(r *events.Request) {
	if r.Expert != "" && len(r.Plan) > 0 {
		g.app.note("expert %s takes the steps of the plan that name no expert", r.Expert)
	}
}

// read reads a plan from a file, which may be a job file.
func (g plans) read(file string) ([]byte, error) {
	raw, err := g.app.documents.plan(file)
	if err != nil {
		return nil, err
	}
	var job struct {
		Plan json.RawMessage `json:"plan"`
	}
	if json.Unmarshal(raw, &job) == nil && len(job.Plan) > 0 && string(job.Plan) != "null" {
		return job.Plan, nil
	}
	return raw, nil
}

// cardsFor returns the experts that a plan may name: given cards, those beside its file, those on a bus that was named. nil
// means unknown.
func (g plans) cardsFor(file string, given []string) ([]events.Card, error) {
	if len(given) == 0 {
		if dir := besideExperts(file); dir != "" {
			given = []string{dir}
		}
	}
	if len(given) > 0 {
		cards, warnings, err := runner.ReadCards(given, g.app.sys.Env)
		for _, w := range warnings.Wire() {
			g.app.note("warning: %s", reason(&w))
		}
		return cards, err
	}
	if !g.app.given("nats-url") && !g.app.given("nats-context") {
		return nil, nil
	}
	var cards []events.Card
	err := g.app.with(func(ctx context.Context, c *client.Client) error {
		var err error
		cards, err = c.Experts().List(ctx)
		return err
	})
	if err != nil && g.app.server == "" && g.app.context == "" {
		return nil, g.app.soft.Err() // That bus was not named, so check the plan without it.
	}
	return cards, err
}

// standIns returns a card for every expert that a plan names, so that it can be read without knowing the experts.
func standIns(raw []byte) []events.Card {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return []events.Card{{ID: "anybody", Name: "anybody", Tags: []string{"default"}}}
	}
	if text, ok := value.(string); ok {
		if begin, end := strings.Index(text, "{"), strings.LastIndex(text, "}"); begin >= 0 && begin < end {
			return standIns([]byte(text[begin : end+1]))
		}
	}
	names, needs := map[string]bool{}, []string{"web_search"}
	collect(value, func(key, text string) {
		switch key {
		case "expert", "assigned_expert", "agent_name":
			names[text] = true
		case "needs":
			needs = append(needs, text)
		case "tag":
			names[text] = true
		case "steps":
			if tag, ok := strings.CutPrefix(strings.TrimSpace(text), "["); ok {
				tag, _, _ = strings.Cut(tag, "]")
				names[tag] = true
			}
		}
	})
	cards := []events.Card{{ID: "anybody", Name: "anybody", Tags: []string{"default"}, Skills: needs}}
	ids := map[string]bool{"anybody": true}
	for name := range names {
		if id := events.Slug(name); !ids[id] && name != "" {
			ids[id] = true
			cards = append(cards, events.Card{ID: id, Name: name, Skills: needs})
		}
	}
	slices.SortFunc(cards, func(a, b events.Card) int { return strings.Compare(a.ID, b.ID) })
	return cards
}

// collect visits every text of a JSON value with its key.
func collect(value any, visit func(key, text string)) {
	type item struct {
		key   string
		value any
	}
	for stack := []item{{"", value}}; len(stack) > 0; {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch v := top.value.(type) {
		case string:
			visit(top.key, v)
		case []any:
			for _, child := range v {
				stack = append(stack, item{top.key, child})
			}
		case map[string]any:
			for key, child := range v {
				stack = append(stack, item{key, child})
			}
		}
	}
}

// loosePlan reads a plan for drawing and comparing: its experts need not exist.
func (g plans) loosePlan(file string) (*events.Plan, error) {
	raw, err := g.read(file)
	if err != nil {
		return nil, err
	}
	plan, faults, _ := planner.Check(raw, standIns(raw), 0)
	if len(faults) > 0 {
		for i := range faults {
			faults[i].Field = strings.TrimSuffix(filepath.Base(file)+": "+faults[i].Field, ": ")
		}
		return nil, usageError{faults}
	}
	return plan, nil
}

func (g plans) draw(file, form string) error {
	plan, err := g.loosePlan(file)
	if err != nil {
		return err
	}
	return g.app.views.draw(planPicture(plan), form)
}

func (g plans) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff A B", Short: "Compare two plans step by step; exit 1 if they differ", Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			before, err := g.loosePlan(args[0])
			if err != nil {
				return err
			}
			after, err := g.loosePlan(args[1])
			if err != nil {
				return err
			}
			d := joblog.DiffPlans(before, after)
			if err := g.writeDiff(&d); err != nil {
				return err
			}
			if !d.Empty() {
				return outcome(ExitFailed)
			}
			return nil
		},
	}
}

func (g plans) writeDiff(d *joblog.PlanDifference) error {
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, d)
	}
	var b strings.Builder
	for _, field := range d.Plan {
		fmt.Fprintf(&b, "~ plan %s\n", field)
	}
	for _, id := range d.Added {
		fmt.Fprintf(&b, "+ %s\n", id)
	}
	for _, id := range d.Removed {
		fmt.Fprintf(&b, "- %s\n", id)
	}
	for _, c := range d.Changed {
		fmt.Fprintf(&b, "~ %s\n", c.SubJob)
		for _, f := range c.Fields {
			fmt.Fprintf(&b, "    %s: %s → %s\n", f.Field, dash(short(string(f.Before), 120)), dash(short(string(f.After), 120)))
		}
	}
	return g.app.printf("%s", output.Clean(b.String()))
}

func (g plans) templateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "template [DIALECT]", Short: "Print a plan to start from: " + strings.Join(planner.Dialects(), ", "), Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dialect := planner.Dialects()[0]
			if len(args) == 1 {
				dialect = args[0]
			}
			text, ok := planner.Template(dialect)
			if !ok {
				return usageError{fmt.Errorf("unknown dialect %q: use one of %s", dialect, strings.Join(planner.Dialects(), ", "))}
			}
			if g.app.output == "yaml" {
				return output.Value(g.app.sys.Stdout, g.app.output, json.RawMessage(text))
			}
			return g.app.printf("%s", text)
		},
	}
}
