package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/run"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
	gateway "github.com/jobgraph/jobgraph/services/gateway/app"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
	scheduler "github.com/jobgraph/jobgraph/services/scheduler/app"
)

// member is one service of the stack.
type member struct {
	name string
	bus  *bus.Bus
	run  func(ctx context.Context, p *host.Process, b *bus.Bus) error
}

// seated names an owner of claims with a seat. A store has one stack at a time, so claims of a former stack can be taken
// over at once.
func seated(seat string) string { return run.Seated(seat, uuid.NewString()) }

// members reads the settings of each service from environment and file. It reports all faults together.
func (k *Stack) members() ([]member, error) {
	if err := checkConfig(k.settings.Host.Config, k.settings.Env); err != nil {
		return nil, err
	}
	own, err := ReadServices(k.settings.Host.Config, k.settings.Env)
	r, p, s := own.Runner, own.Planner, own.Scheduler
	r.Experts = append(r.Experts, k.settings.Experts...)
	r.Builtin = true
	doer, modelErr := k.model(&p, &r)
	err = errors.Join(err, modelErr)
	list := []member{
		{name: "expert-runner", run: func(ctx context.Context, p *host.Process, b *bus.Bus) error {
			return runner.Run(ctx, p, r, runner.Deps{Bus: b, Doer: doer, Sandbox: k.settings.Sandbox, Owner: seated("runner-up")})
		}},
		{name: "planner", run: func(ctx context.Context, process *host.Process, b *bus.Bus) error {
			return planner.Run(ctx, process, p, planner.Deps{Bus: b, Doer: doer, Owner: seated("planner-up")})
		}},
		{name: "scheduler", run: func(ctx context.Context, p *host.Process, b *bus.Bus) error {
			return scheduler.Run(ctx, p, s, scheduler.Deps{Bus: b, Room: k.server.Room})
		}},
	}
	if k.settings.Token != "" && k.settings.Host.HTTPAddr != host.AddrOff {
		g := own.Gateway
		g.StartToken = k.settings.Token
		list = append(list, member{name: "gateway", run: func(ctx context.Context, p *host.Process, b *bus.Bus) error {
			return gateway.Run(ctx, p, g, gateway.Deps{Bus: b})
		}})
	}
	if !k.settings.PlanOnly || err != nil {
		return list, err
	}
	files := r.Experts
	if k.settings.Host.Config != "" {
		files = append([]string{k.settings.Host.Config}, files...)
	}
	cards, err := runner.CheckCards(files, k.settings.Env)
	if k.cards = append(cards, k.settings.Cards...); len(k.cards) == 0 {
		k.cards = runner.StandIns(k.settings.Host.Config, &r, k.settings.Env)
	}
	return list[1:], err
}

// announce announces the cards of experts that have no runner.
func (k *Stack) announce(ctx context.Context) error {
	for _, card := range k.cards {
		body, err := json.Marshal(card)
		if err != nil {
			return fmt.Errorf("announce %s: %w", card.ID, err)
		}
		if _, err := k.admin.Experts().Put(ctx, card.ID, body, 0); err != nil {
			return fmt.Errorf("announce %s: %w", card.ID, err)
		}
	}
	return nil
}

// model sets the configured model in the settings of planner and runner. For a scripted model it returns what answers
// instead of a provider; the error is that of its script.
func (k *Stack) model(p *planner.Settings, r *runner.Settings) (llm.Doer, error) {
	if k.settings.scripted() {
		p.APIKey, p.Keys, p.BaseURL, p.Model = "", nil, fakeAddress, FakeModel
		r.APIKey, r.Keys, r.BaseURL, r.Model = p.APIKey, p.Keys, p.BaseURL, p.Model
		return k.settings.play()
	}
	if k.settings.Model != "" {
		p.Model, r.Model = k.settings.Model, k.settings.Model
	}
	return nil, nil
}

// fakeAddress stands for the scripted model, which has no address.
const fakeAddress = "http://fake.invalid/v1"

// play returns the scripted model. Errors: host.Faults for its script.
func (s *Settings) play() (llm.Doer, error) {
	_, file, given := strings.Cut(s.Model, ":")
	if !given {
		return llmtest.NewUnrecorded(llmtest.Play{Watched: s.Watched}), nil
	}
	script, err := llmtest.LoadScript(file)
	if err != nil {
		return nil, host.Faults{{
			Code: events.CodeInvalid, Field: "--model", Message: "the script of the model cannot be used", Cause: err.Error(),
			Hint: "write fake:FILE, with a file as `jobgraph model serve --script` takes it",
		}}
	}
	script.Else = llmtest.Planner{}
	return llmtest.NewUnrecorded(script), nil
}
