package planning_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/caller"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
	"github.com/jobgraph/jobgraph/services/planner/internal/profile"
)

// The tests named after the scenarios of predecessor systems run the built-in profiles with their real prompts and the real
// reader. A line "proves ID" above a test names the scenario that it proves; the table in the documentation is made from
// these lines.

// built reads the built-in profiles once; a set never changes.
var built = sync.OnceValues(func() (*profile.Set, error) { return profile.Read() })

// stage is one planning with a real profile, and the record of everything that it received.
type stage struct {
	t     *testing.T
	start planning.Start
	ports planning.Ports
	*planning.Planning
	facts []planning.Fact
	calls []*planning.ModelCall
	asks  []*events.InputRequested
}

func team() []events.Card {
	return []events.Card{
		{ID: "researcher", Name: "Researcher", Description: "searches the web", Skills: []string{"web_search", "research"}, Tags: []string{"default"}},
		{ID: "coder2", Name: "Coder 2", Description: "computes with Python", Skills: []string{"processing", "code"}},
		{ID: "analyst", Name: "Analyst", Description: "draws conclusions", Skills: []string{"analysis"}},
		{ID: "monitor", Name: "Price Monitor", Description: "watches prices", Skills: []string{"monitor", "alert"}, Tags: []string{"prices", "watch"}},
		{ID: "secret", Name: "Secret", Hidden: true},
		{ID: "query_system_status", Name: "System status", Hidden: true},
		{ID: "off", Name: "Off", Disabled: true},
		{ID: "pass", Name: "Pass", Passthrough: true},
	}
}

// open prepares a planning; change may modify its start.
func open(t *testing.T, name, goal string, change ...func(*planning.Start)) *stage {
	t.Helper()
	set := musttest.Get(built())(t)
	e, ok := set.Get(name)
	if !ok {
		t.Fatalf("there is no profile %s", name)
	}
	s := &stage{t: t, start: planning.Start{
		Mode: events.WorkPlan, Prefix: "p1", Request: events.Request{Goal: goal}, Cards: team(), Profile: e.Profile, Model: true, ModelName: "fake (via test)",
		Now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Rules: plan.Version, Careful: true, Decisions: planning.DecisionsVersion,
	}}
	for _, f := range change {
		f(&s.start)
	}
	s.ports = testPorts(set)
	s.Planning = planning.New(s.start, s.ports)
	s.note()
	return s
}

// testPorts are the ports used in production.
func testPorts(set *profile.Set) planning.Ports {
	return planning.Ports{Render: set.Render, Zones: time.LoadLocation, Read: caller.Read(func(string, string) {})}
}

func (s *stage) note() {
	switch c := s.Pending(); c.Kind {
	case planning.Call:
		s.calls = append(s.calls, c.Call)
	case planning.Ask:
		s.asks = append(s.asks, c.Ask)
	}
}

func (s *stage) fact(f planning.Fact) *stage {
	s.t.Helper()
	f.Key = s.Pending().Key
	if !s.Apply(f) {
		s.t.Fatalf("%+v does not answer %s %s", f, s.Pending().Kind, s.Pending().Key)
	}
	s.facts = append(s.facts, f)
	s.note()
	return s
}

func (s *stage) says(texts ...string) *stage {
	s.t.Helper()
	for _, text := range texts {
		s.looked()
		s.fact(planning.Fact{Kind: planning.Answered, Text: text})
	}
	return s
}

func (s *stage) fails(class planning.Class) *stage {
	s.t.Helper()
	s.looked()
	return s.fact(planning.Fact{Kind: planning.Failed, Class: class, Message: "provider said no"})
}

// looked ends a pending investigation without findings.
func (s *stage) looked() {
	s.t.Helper()
	if s.Pending().Kind == planning.Investigate {
		s.fact(planning.Fact{Kind: planning.Failed, Message: "there is no such tool"})
	}
}

func (s *stage) person(answer string) *stage {
	s.t.Helper()
	raw := musttest.JSON(s.t, answer)
	return s.fact(planning.Fact{Kind: planning.Closed, Action: events.Answered, Answer: raw})
}

func (s *stage) owes(kind planning.CommandKind, at planning.Stage) *stage {
	s.t.Helper()
	if c := s.Pending(); c.Kind != kind || c.Stage != at {
		s.t.Fatalf("owes %s at %s, want %s at %s; %s; end %+v", c.Kind, c.Stage, kind, at, s.path(), c.End)
	}
	return s
}

// ends checks the outcome, and that the recorded facts fold to the same outcome, as after a crash.
func (s *stage) ends(kind events.Kind) *planning.Ending {
	s.t.Helper()
	e, ok := s.Ended()
	if !ok || e.Kind != kind {
		s.t.Fatalf("owes %s %s, end %+v, want %s; %s", s.Pending().Kind, s.Pending().Key, e, kind, s.path())
	}
	var start planning.Start
	var facts []planning.Fact
	reread(s.t, s.start, &start)
	reread(s.t, s.facts, &facts)
	again, _ := planning.Fold(start, s.ports, facts).Ended()
	a, errA := json.Marshal(e)
	b, errB := json.Marshal(again)
	if errA != nil || errB != nil || string(a) != string(b) {
		s.t.Fatalf("folded again:\n%s\n%s", a, b)
	}
	return e
}

// reread returns a value as it is read back from a journal.
func reread(t *testing.T, value, back any) {
	t.Helper()
	text := musttest.JSON(t, value)
	musttest.Decode(t, text, back)
}

// path returns the sequence of stages.
func (s *stage) path() string {
	var list []string
	for _, m := range s.State().Moves {
		list = append(list, fmt.Sprintf("%s, %s → %s", m.From, m.On, m.To))
	}
	return strings.Join(list, "\n")
}

// told returns everything that the last call sent to the model.
func (s *stage) told() string {
	var b strings.Builder
	for _, m := range s.calls[len(s.calls)-1].Messages {
		b.WriteString(m.Role + ": " + m.Text + "\n")
	}
	return b.String()
}

func no() *bool {
	b := false
	return &b
}

func review(s *planning.Start) { s.Request.AutoAccept = no() }

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("lacks %q: %s", part, text)
		}
	}
}
