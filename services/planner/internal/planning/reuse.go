package planning

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// reuseFor is how long a plan is stored for reuse if the profile does not say.
const reuseFor = 24 * time.Hour

// Reused is a plan made earlier for the same request and the same experts.
type Reused struct {
	// Plan is the checked graph, Job the job that it was made for, Made the time.
	Plan *events.Plan `json:"plan"`
	Job  string       `json:"job"`
	Made time.Time    `json:"made"`
}

// ReuseKey is a digest of everything that determines a plan, apart from the time: the request without what only
// distinguishes jobs, the profile, the prompts, the model, and the cards of all experts. It is empty if plans must not be
// reused: if neither the request nor the profile asks for it, or if the plan depends on more than the request.
func (t *Start) ReuseKey() string {
	r := t.Request
	wanted := t.Profile.Cache > 0
	if r.PlanCache != nil {
		wanted = *r.PlanCache
	}
	given := len(r.Plan) > 0 || strings.TrimSpace(r.Expert) != ""
	if !wanted || !t.Model || given || t.Mode != events.WorkPlan || len(t.History)+len(t.Lessons)+len(t.Findings) > 0 {
		return ""
	}
	r.ID, r.Session, r.Thread, r.User, r.Labels, r.Priority, r.Debug = "", "", "", "", nil, 0, false
	r.Goal, r.AutoAccept, r.PlanCache, r.FailurePolicy = strings.TrimSpace(r.Goal), nil, nil, ""
	text, err := json.Marshal([]any{r, t.Profile, t.Version, t.ModelName, t.Cards, t.Examples, t.MaxSteps, t.MaxRounds, t.DefaultExpert})
	if err != nil {
		return "" // An empty key equals no other.
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ReuseFor is how long a plan is stored for reuse.
func (t *Start) ReuseFor() time.Duration {
	if t.Profile.Cache > 0 {
		return t.Profile.Cache.Std()
	}
	return reuseFor
}

// reuse takes the stored plan if it still passes the check.
func (s beginStage) reuse() bool {
	old := s.start.Reused
	if old == nil || old.Plan == nil || s.start.ReuseKey() == "" {
		return false
	}
	raw, err := json.Marshal(old.Plan)
	if err != nil {
		return false
	}
	o := s.options()
	if s.start.Rules < 1 {
		o.MaxSteps = s.maxSteps()
	}
	r := plan.Check(raw, s.state.Cards, o)
	if _, fault := plan.Finaliser(s.start.Request.Finalize, s.state.Cards); r.Plan == nil || fault != nil {
		return false
	}
	s.accept(r.Plan, events.Faults{{
		Code: events.CodeReused, Field: "plan_cache", Hint: `"plan_cache": false makes a new plan`,
		Message: fmt.Sprintf("the plan was made for job %s at %s", old.Job, old.Made.UTC().Format(time.RFC3339)),
	}})
	s.state.Reused = true
	s.finaliser()
	return true
}

// reusable returns the plan to store for the next identical request, or nil. Only a plan that a model wrote from the
// request alone qualifies: a person's answers, findings and fallback plans belong to this job.
func (s endStage) reusable() *events.Plan {
	c := &s.state.Counts
	replaced := slices.ContainsFunc(s.state.Moves, func(m Move) bool { return m.On == OnReplaced })
	if s.start.ReuseKey() == "" || c.Draft == 0 || c.Investigate > 0 || s.state.Fallback != "" || replaced || len(s.state.Told)+len(s.state.Wishes) > 0 {
		return nil
	}
	return s.state.Plan
}
