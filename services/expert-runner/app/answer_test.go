package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// holding returns an expert whose runs end when they are released.
func holding(release <-chan struct{}) app.Function {
	return function("hold", false, func(ctx context.Context, _ *app.Task) (events.SubJobReported, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return events.SubJobReported{}, ctx.Err()
	})
}

// inHand asks all runners for their runs.
func inHand(t *testing.T, w *servicetest.Env, q verb.RunQuery) verb.RunList {
	t.Helper()
	return musttest.Get(client.SupplyOf(client.New(w.Bus)).Runs(t.Context(), q))(t)
}

func TestRunnersSayWhichRunsTheyHaveInHand(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		if list := inHand(t, w, verb.RunQuery{}); len(list.Runs) != 0 || list.Total != 0 {
			t.Errorf("without a runner: %+v", list)
		}
		release := make(chan struct{})
		settings := app.Settings{Prefetch: 1, Pools: []string{events.DefaultPool}}
		first := start(w, settings, app.Deps{Owner: "first", Functions: []app.Function{holding(release)}})
		w.Issue(work("hold", "j1", "a", 1))
		w.Until("the first run is claimed", func() bool {
			list := inHand(t, w, verb.RunQuery{})
			return list.Total == 1 && !list.Runs[0].LeaseUntil.IsZero()
		})
		start(w, settings, app.Deps{Owner: "second", Functions: []app.Function{holding(release)}})
		const more = 24 // More than one runner takes.
		for n := range more {
			w.Issue(work("hold", "j2", fmt.Sprint("s", n), 1))
		}
		w.Until("all runs are claimed", func() bool {
			list := inHand(t, w, verb.RunQuery{})
			return list.Total == 1+more && !slices.ContainsFunc(list.Runs, func(r verb.HeldRun) bool { return r.LeaseUntil.IsZero() })
		})
		list := inHand(t, w, verb.RunQuery{ID: "j1"})
		if len(list.Runs) != 1 || list.Total != 1 {
			t.Fatalf("of j1: %+v", list)
		}
		r := list.Runs[0]
		if lease := time.Until(r.LeaseUntil); r.Runner != "first" || r.SubJob != "a" || r.Run != 1 || r.Attempt != 1 || r.Expert != "hold" || r.Pool != events.DefaultPool ||
			r.Since.After(time.Now()) || lease <= 0 || lease > 30*time.Second {
			t.Errorf("the first run is %+v", r)
		}
		if list := inHand(t, w, verb.RunQuery{ID: "j2"}); list.Total != more || !slices.ContainsFunc(list.Runs, func(r verb.HeldRun) bool { return r.Runner == "second" }) {
			t.Errorf("of j2: %+v", list)
		}
		if list := inHand(t, w, verb.RunQuery{ID: "j2", Limit: 1}); list.Total != more || len(list.Runs) != 2 {
			t.Errorf("one of each: %+v", list)
		}
		first.Drain() // It lists the runs that it still has.
		if list := inHand(t, w, verb.RunQuery{ID: "j1"}); list.Total != 1 {
			t.Errorf("of a draining runner: %+v", list)
		}
		close(release)
		w.Report(work("hold", "j1", "a", 1))
		w.Until("no run is in hand", func() bool { return inHand(t, w, verb.RunQuery{}).Total == 0 })
	})
}

func TestARunnerRefusesWhatItCannotRead(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{holding(nil)}})
		for body, want := range map[string]events.Code{
			``: "", `{}`: "", ` {"id":"none"} `: "", `{"id":"` + strings.Repeat("x", 100_000) + `"}`: "", `{"id":"a.>","limit":1000000000}`: "",
			`{"limit":-1}`: events.CodeInvalid, `{"limit":"x"}`: events.CodeMalformed, `{"idd":"x"}`: events.CodeMalformed, `[]`: events.CodeMalformed, "\xff\x00": events.CodeMalformed,
			strings.Repeat("[", 100_000): events.CodeMalformed,
		} {
			answer, fault, err := w.Bus.Services().Request(t.Context(), w.Names.API("runs"), []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case fault != nil && (fault.Code != want || fault.Hint == ""):
				t.Errorf("%.40q: %v, want %s", body, fault, want)
			case fault == nil && (want != "" || string(answer) != `{"runs":[],"total":0}`):
				t.Errorf("%.40q: %s, want %s", body, answer, want)
			}
		}
	})
}

func TestARunnerDescribesItsExpertsAndTheToolsThatTheyLack(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		settings := agents(t, card(t, "tools: [list_files, search_web, sql]\npool: gpu\n"))
		start(w, settings, app.Deps{Owner: "me", Doer: carefulModel(), Functions: []app.Function{holding(nil)}})
		runners, err := client.SupplyOf(client.New(w.Bus)).Runners(t.Context())
		if err != nil || len(runners) != 1 {
			t.Fatalf("%+v, %v", runners, err)
		}
		me := runners[0]
		if me.Runner != "me" || me.Version == "" || me.Concurrency != 16 || me.InHand != 0 || !slices.Equal(me.Pools, []string{"default", "gpu"}) || len(me.Experts) != 2 {
			t.Fatalf("%+v", me)
		}
		agent, hold := me.Experts[0], me.Experts[1]
		if hold.ID != "hold" || hold.Kind != "func" || hold.Pool != events.DefaultPool || len(hold.Tools)+len(hold.Lacks) != 0 {
			t.Errorf("%+v", hold)
		}
		if agent.ID != "agent" || agent.Kind != "llm" || agent.Pool != "gpu" || !slices.Contains(agent.Tools, "list_files") || slices.Contains(agent.Tools, "search_web") {
			t.Errorf("%+v", agent)
		}
		if !slices.ContainsFunc(agent.Lacks, func(l verb.LackedTool) bool {
			return l.Tool == "search_web" && strings.Contains(l.Reason, "--search-url")
		}) {
			t.Errorf("lacks %+v", agent.Lacks)
		}
		for _, tool := range []string{"search_web", "sql"} { // sql depends on this machine: one of the two lists has it.
			lacks := slices.ContainsFunc(agent.Lacks, func(l verb.LackedTool) bool { return l.Tool == tool && l.Reason != "" })
			if lacks == slices.Contains(agent.Tools, tool) {
				t.Errorf("%s is in %+v and %+v", tool, agent.Tools, agent.Lacks)
			}
		}
	})
}

// A runner is a micro service that declares its endpoints and their forms.
func TestARunnerDeclaresItsEndpoints(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{holding(nil)}})
		offers, err := w.Bus.Services().Offers(t.Context(), "jobgraph-runner")
		if err != nil || len(offers) != 2 {
			t.Fatalf("%+v, %v", offers, err)
		}
		for _, o := range offers {
			var schema struct{ Type string }
			if err := json.Unmarshal([]byte(o.Metadata["output_schema"]), &schema); err != nil || schema.Type != "object" || o.Metadata["answers"] == "" || o.Metadata["roles"] != "viewer or admin" {
				t.Errorf("%s: %v (%v)", o.Subject, o.Metadata, err)
			}
		}
	})
}
