package planning

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/lenient"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// ports are the ports of tests: prompts show their variables, and text is read as in production.
func ports() Ports {
	return Ports{
		Render: func(name, locale string, v Vars) (Prompt, error) {
			return Prompt{
				System: fmt.Sprintf("%s in %s: %d steps, experts %d", name, locale, v.MaxSteps, len(v.Experts)),
				User: strings.Join([]string{
					v.Query, v.Findings, v.Text, strings.Join(v.Faults, "\n"), strings.Join(v.Wishes, "\n"), strings.Join(v.Lessons, "\n"),
				}, "\n"),
			}, nil
		},
		Read: func(text string, want *Wanted) (json.RawMessage, error) {
			raw, _, err := lenient.Read(text, lenient.Options{Fits: want.Fits, Tags: []string{"decomposition"}})
			return raw, err
		},
		Plan: plan.Options{},
	}
}

// everything is a profile with every stage and limit.
func everything() Profile {
	return Profile{
		Name: "test", Stages: Optional(), Dialect: "native", Fallback: []Rung{RungEarlier, RungSingle},
		Limits:   Limits{Clarifications: 2, Repairs: 1, Rounds: 3, Reminders: 2, Steps: 20, HistoryBytes: 4000, FindingBytes: 4000, RawBytes: 1000},
		Review:   ReviewRules{Expires: events.Duration(time.Hour)},
		Plan:     PlanRules{Enough: "step", Inadequate: "ask"},
		Schedule: ScheduleRules{Capabilities: []string{"monitor"}, Strip: true},
	}
}

func cards() []events.Card {
	return []events.Card{
		{ID: "design", Name: "Design Expert", Description: "designs graph schemas", Skills: []string{"schema"}},
		{ID: "extract", Name: "Extraction Expert", Description: "extracts entities from text", Skills: []string{"web_search", "research"}},
		{ID: "watch", Name: "Price Monitor", Description: "watches prices", Skills: []string{"monitor", "analysis", "processing"}, Tags: []string{"default"}},
		{ID: "secret", Name: "Hidden", Hidden: true},
		{ID: "through", Name: "Passthrough", Passthrough: true},
	}
}

func startOf(goal string) Start {
	return Start{
		Mode: events.WorkPlan, Prefix: "p1", Request: events.Request{Goal: goal}, Cards: cards(), Profile: everything(), Model: true,
		ModelName: "fake", Decisions: DecisionsVersion, Now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
	}
}

// talk drives a planning with texts for its calls and answers for its questions, in order, and records its commands.
type talk struct {
	t *testing.T
	*Planning
	facts []Fact
	owed  []Command
}

func begin(t *testing.T, start Start) *talk {
	t.Helper()
	k := &talk{t: t, Planning: New(start, ports())}
	k.owed = append(k.owed, k.Pending())
	return k
}

func (k *talk) fact(f Fact) *talk {
	k.t.Helper()
	if f.Key == "" {
		f.Key = k.Pending().Key
	}
	if !k.Apply(f) {
		k.t.Fatalf("fact %+v does not answer %s %s", f, k.Pending().Kind, k.Pending().Key)
	}
	k.facts = append(k.facts, f)
	k.owed = append(k.owed, k.Pending())
	return k
}

// says answers a call of the model.
func (k *talk) says(text string) *talk {
	k.t.Helper()
	return k.fact(Fact{Kind: Answered, Text: text, Model: "fake"})
}

func (k *talk) fails(class Class) *talk {
	k.t.Helper()
	return k.fact(Fact{Kind: Failed, Class: class, Message: "because"})
}

// person answers a question.
func (k *talk) person(answer string) *talk {
	k.t.Helper()
	raw := musttest.JSON(k.t, answer)
	return k.fact(Fact{Kind: Closed, Action: events.Answered, Answer: raw})
}

// owes checks the pending command.
func (k *talk) owes(kind CommandKind, key string) *talk {
	k.t.Helper()
	if c := k.Pending(); c.Kind != kind || c.Key != key {
		k.t.Fatalf("owes %s %s, want %s %s; moves %v, end %+v", c.Kind, c.Key, kind, key, k.State().Moves, c.End)
	}
	return k
}

// end checks the ending, and that a second fold of the same facts gives the same bytes.
func (k *talk) end(kind events.Kind) *Ending {
	k.t.Helper()
	e, ok := k.Ended()
	if !ok || e.Kind != kind {
		k.t.Fatalf("owes %+v, want the end with %s; ending %+v; moves %v", k.Pending(), kind, e, k.State().Moves)
	}
	twin := Fold(k.core.start, ports(), k.facts)
	for _, pair := range [][2]any{{k.State(), twin.State()}, {k.Pending(), twin.Pending()}} {
		a, err := json.Marshal(pair[0])
		b, again := json.Marshal(pair[1])
		if err != nil || again != nil || string(a) != string(b) {
			k.t.Fatalf("folded twice:\n%s\n%s\n%v %v", a, b, err, again)
		}
	}
	return e
}

const (
	handOn  = `{"decision":"hand_on","enriched_query":"","locale":"en-US","title":"A title"}`
	goodOne = `{"title":"T","subjobs":[{"id":"a","goal":"do it","expert":"Design Expert"}]}`
	badOne  = `{"subjobs":[{"id":"a","goal":"do it","expert":"Nobody","dependencies":["z"]}]}`
	noise   = "I am sorry, the weather is fine."
)
