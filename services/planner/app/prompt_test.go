package app_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// proves D16
// proves V31
func TestKeptPromptsHoldNoSecretOfTheProcess(t *testing.T) {
	const secret = "sk-prompt-0123456789abcdef"
	for name, pad := range map[string]int{"in the journal": 0, "beside it": 2 * events.MaxInline} {
		servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
			w.Announce(three()...)
			engine := musttest.Get(llm.New(llm.Single("", "http://fake.invalid/v1", "fake"), llm.Settings{Doer: llmtest.New(llmtest.Say(
				llmtest.Answer{Text: `{"subjobs":[{"id":"a","goal":"g","completion_criteria":"c","expert":"design-expert"}]}`},
			))}))(t)
			d := app.Deps{Bus: w.Server.Connect("planner"), Model: engine, ModelName: "fake"}
			w.Start("planner", host.Settings{Concurrency: 4}, func(ctx context.Context, p *host.Process) error {
				p.Secrets.Add(secret)
				return app.Run(ctx, p, app.Default(), d)
			}).Await()
			issue(w, "j", events.Request{Goal: "send " + secret + strings.Repeat(" x", pad/2), Profile: "graph", Debug: true})
			w.Idle()
			list, err := client.New(w.Bus).Journals().Exchanges(t.Context(), "j", events.PlanID)
			if err != nil || len(list) != 1 || list[0].Prompt == nil || list[0].Answer == "" {
				t.Fatalf("%s: %v %+v", name, err, list)
			}
			if text := list[0].Prompt.String(); strings.Contains(text, secret) || !strings.Contains(text, "send ****") {
				t.Errorf("%s: %.2000s", name, text)
			}
			live := ""
			for m, err := range w.Bus.Items().Of(t.Context(), "j", events.PlanID, 0) {
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range m.Items {
					live += string(i.Type) + " " + i.Text + "\n"
				}
			}
			if strings.Contains(live, secret) || !strings.Contains(live, "send ****") || !strings.Contains(live, "raw {") {
				t.Errorf("%s: %.2000s", name, live)
			}
		})
	}
}
