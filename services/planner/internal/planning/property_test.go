package planning

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// nonsense is what models and people may write: anything, and things that look valid.
func nonsense(t *rapid.T) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"", " ", noise, handOn, goodOne, badOne, "{", "[]", "null", `{"subjobs":[]}`, `{"decision":"clarify","question":"?"}`, `{"decision":"clarify"}`,
			`{"decision":"answer","answer":"hello"}`, `{"decision":"refuse"}`, `{"decision":7}`, `{"subjobs":[{"id":"a","goal":"g","dependencies":["a"]}]}`,
			`{"tasks":[],"adequate":false,"reason":"which?"}`, `{"tasks":[{"title":"t","query":"q","agent_name":"Price Monitor","pattern":"recurring","schedule_config":{"daily_time":"09:00"}}]}`,
			`{"steps":[],"has_enough_context":true,"thought":"known"}`, `{"steps":[],"has_enough_context":false,"thought":"known"}`,
			`{"has_enough_context":false,"thought":"t","subjobs":[{"id":"a","goal":"do it","expert":"Design Expert"}]}`, `{"tasks":[],"questions":[{"prompt":"1?"},{"prompt":"2?"}]}`, `<think>{"subjobs":[`, `{"steps":["[X] a","b"]}`, "accept", "reject", "edit: other", "[EDIT_PLAN] more", "嗯嗯", "确认", "\xff{\xfe", "{\"subjobs\":[{\"id\":\"a\",\"goal\":\"do \xff\xfe it\",\"expert\":\"Design Expert\"}]}",
			`{"action":"edit"}`, `{"approved":true}`, `{"action":"edit","text":"x"}`, goodOne[:20],
		}),
		rapid.String(),
	).Draw(t, "text")
}

// bound is the most commands that the limits of a profile allow.
func bound(p *Profile) int {
	l := p.Limits
	clarifications := max(1, l.Clarifications)
	rounds := max(1, l.Rounds) + clarifications + 1
	asks := clarifications + 2*rounds*(l.Reminders+2)
	return 1 + clarifications + 1 + rounds*(l.Repairs+1) + asks + 2
}

func TestAnySequenceOfNonsenseEndsWithinTheLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := startOf(nonsense(t))
		pick := func(label string, words ...string) string { return rapid.SampledFrom(words).Draw(t, label) }
		p := Profile{
			Dialect: pick("dialect", "native", "chat2graph", "valuecell", "deer-go", "openmanus"),
			Limits: Limits{
				Clarifications: rapid.IntRange(0, 3).Draw(t, "clarifications"), Repairs: rapid.IntRange(0, 3).Draw(t, "repairs"),
				Rounds: rapid.IntRange(0, 3).Draw(t, "rounds"), Reminders: rapid.IntRange(0, 3).Draw(t, "reminders"), Steps: 5, HistoryBytes: 100, FindingBytes: 100,
			},
			Triage:      TriageRules{Unreadable: pick("unreadable", "", "plan", "answer", "guidance")},
			Review:      ReviewRules{When: pick("review", "", "always", "never"), OnExpiry: pick("expiry", "", "accept"), AtLimit: pick("limit", "", "accept", "reject"), Expires: 5},
			Schedule:    ScheduleRules{Strip: true},
			Plan:        PlanRules{Enough: pick("enough", "", "step", "answer"), Inadequate: pick("inadequate", "", "ask", "reject"), Search: rapid.Bool().Draw(t, "search")},
			Investigate: InvestigateRules{When: pick("investigate", "always", "never"), Needs: "research"},
		}
		for _, stage := range Optional() {
			if rapid.Bool().Draw(t, string(stage)) {
				p.Stages = append(p.Stages, stage)
			}
		}
		for _, rung := range Rungs() {
			if rapid.Bool().Draw(t, string(rung)) {
				p.Fallback = append(p.Fallback, rung)
			}
		}
		start.Profile = p
		start.Mode = rapid.SampledFrom([]events.WorkKind{events.WorkPlan, events.WorkPlan, events.WorkPlan, events.WorkSplit, events.WorkReplan, "else"}).Draw(t, "mode")
		if rapid.Bool().Draw(t, "part") {
			start.Part = &events.SubJob{ID: "p", Goal: "the part"}
		}
		start.Model = rapid.IntRange(0, 5).Draw(t, "model") > 0
		if rapid.IntRange(0, 5).Draw(t, "given") == 0 {
			start.Request.Plan = json.RawMessage(rapid.SampledFrom([]string{goodOne, badOne, "x"}).Draw(t, "plan"))
		}
		auto := rapid.Bool().Draw(t, "auto")
		if start.Request.AutoAccept = &auto; rapid.Bool().Draw(t, "open") {
			start.Request.AutoAccept = nil
		}
		start.Decisions = rapid.IntRange(0, DecisionsVersion).Draw(t, "decisions")
		start.Request.Unattended = new(rapid.IntRange(0, 3).Draw(t, "unattended") == 0)
		start.Request.Unanswered = events.Unanswered(pick("unanswered", "", "assume", "fail"))
		if rapid.Bool().Draw(t, "no cards") {
			start.Cards = nil
		}
		s := New(start, ports())
		var facts []Fact
		awaits := 0
		for {
			c := s.Pending()
			if c.Kind == End {
				break
			}
			f := Fact{Key: c.Key, Run: rapid.IntRange(1, 3).Draw(t, "run"), Text: nonsense(t)}
			switch c.Kind {
			case Call:
				f.Kind = Answered
				if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
					f.Kind = Failed
					f.Class = rapid.SampledFrom([]Class{"", ClassUnavailable, ClassAuth, ClassTooLong, ClassFilter, ClassRefusal, ClassCut, ClassBroken, ClassQuota, ClassUnnamed, ClassMalformed, "new"}).Draw(t, "class")
				}
			case Investigate:
				f.Kind = rapid.SampledFrom([]FactKind{Found, Failed}).Draw(t, "kind")
				f.Findings = []Finding{{Source: "s", Text: f.Text}}
			case Await:
				f.Kind, f.Waited = Cards, rapid.Bool().Draw(t, "waited")
				if rapid.Bool().Draw(t, "cards") {
					f.Cards = cards()
				}
			case Ask:
				f.Kind = Closed
				f.Action = rapid.SampledFrom([]events.InputAction{events.Answered, events.Answered, events.Answered, events.Expired, events.Cancelled, "?"}).Draw(t, "action")
				f.Answer = json.RawMessage(f.Text)
				if rapid.Bool().Draw(t, "quoted") {
					f.Answer, _ = json.Marshal(f.Text) // A string can always be encoded.
				}
			}
			if c.Kind == Await {
				if awaits++; awaits > 3 {
					f.Waited = true
				}
			}
			if !s.Apply(f) {
				t.Fatalf("%+v does not answer %+v", f, c)
			}
			if facts = append(facts, f); len(facts)-awaits > bound(&start.Profile) {
				t.Fatalf("%d facts and no end: %v", len(facts), s.State().Moves)
			}
		}
		whole(t, &start, s)
		twin := Fold(start, ports(), reread(t, facts))
		if a, b := written(t, s), written(t, twin); a != b {
			t.Fatalf("folded twice:\n%s\n%s", a, b)
		}
		if s.Apply(Fact{Key: "end", Kind: Answered}) || s.Pending().Kind != End {
			t.Fatal("the end was no end")
		}
	})
}

// reread returns facts as they are read back from the journal. An answer that is not JSON is never recorded.
func reread(t *rapid.T, facts []Fact) []Fact {
	text, err := json.Marshal(facts)
	if err != nil {
		return facts
	}
	var back []Fact
	musttest.Decode(t, text, &back)
	return back
}

func written(t *rapid.T, s *Planning) string {
	state, err := json.Marshal(s.State())
	owed, again := json.Marshal(s.Pending())
	if err != nil || again != nil {
		t.Fatal(err, again)
	}
	return fmt.Sprintf("%s\n%s", state, owed)
}

// whole checks that an ending has exactly one meaning, and one that can be acted on.
func whole(t *rapid.T, start *Start, s *Planning) {
	e, _ := s.Ended()
	for _, f := range e.Faults {
		if f.Code == events.CodeInternal {
			t.Fatalf("a bug: %+v, moves %v", f, s.State().Moves)
		}
	}
	switch e.Kind {
	case events.KindGraphCreated:
		if e.Plan == nil || len(e.Plan.SubJobs) == 0 || e.Answer != "" || len(e.Faults) > 0 || len(e.Plan.SubJobs) > 5 {
			t.Fatalf("%+v", e)
		}
	case events.KindJobAnswered:
		if e.Answer == "" || e.Plan != nil || len(e.Faults) > 0 || start.Mode != events.WorkPlan {
			t.Fatalf("%+v", e)
		}
	case events.KindPlanRejected:
		if len(e.Faults) == 0 || e.Plan != nil || e.Answer != "" || e.Faults[0].Code == "" || e.Faults[0].Message == "" {
			t.Fatalf("%+v", e)
		}
	default:
		t.Fatalf("ends with %q", e.Kind)
	}
}

func TestEveryMoveIsInTheTableOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Transitions() {
		at := fmt.Sprintf("%s/%s", m.From, m.On)
		if seen[at] || m.Doc == "" || rooms[m.From] == nil || rooms[m.To] == nil {
			t.Errorf("%+v", m)
		}
		seen[at] = true
	}
}
