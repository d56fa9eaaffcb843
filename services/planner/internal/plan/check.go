package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// MaxText is the largest text of a plan, in bytes.
const MaxText = 256 << 10

// Options are the inputs of a plan check besides the cards. The zero value makes all checks that need no options.
type Options struct {
	// MaxSteps is the most SubJobs; 0 for no limit.
	MaxSteps int
	// DefaultExpert, by id or name, takes the steps that name none.
	DefaultExpert string
	// Retries is the request's own limit, which no card and no step exceeds; nil when the request has none.
	Retries *int
	// Known are ids that the job already has. They are kept in whatever form they have.
	Known []string
	// Done are ids of SubJobs with a result. Steps may depend on them although the plan does not contain them.
	Done []string
	// Zone reports whether a time zone exists. Schema returns what is wrong with a JSON Schema. nil skips the check.
	Zone   func(name string) bool
	Schema func(raw json.RawMessage) error
	// Informed gives each step of a list-like dialect the results of all steps before it; false gives only the last one's,
	// as old records need it to fold the same way.
	Informed bool
	// Version is the version of the rules by which plans are read: Version for new ones, an older one for records that must fold as
	// before.
	Version int
	// Locale is the language of steps that name none, for the choice of experts who know it; empty skips that.
	Locale string
	// Timezone is the time zone of schedules that name none, an IANA name; empty leaves them in UTC.
	Timezone string
	// Discreet keeps the names of hidden and disabled experts out of faults; unset for records made by planners without it.
	Discreet bool
	// Draft holds the rules for a plan from a model; nil for a plan that a caller sent.
	Draft *DraftRules
}

// Version is the newest version of the rules by which plans are read. Since 1, steps of every dialect may name their dependencies,
// a model's plan with too many steps is shortened instead of refused, languages of experts count, and the sources of a written
// result are verified.
const Version = 1

// Result is the outcome of decoding and checking a plan.
type Result struct {
	// Dialect is the recognised form, empty if none was recognised.
	Dialect Dialect
	// Head holds the fields of the plan without its steps, and Steps their number, whether the plan is valid or not.
	Head  events.Plan
	Steps int
	// Plan is the checked graph; nil when there are Faults or an Answer.
	Plan *events.Plan
	// Answer is the plan's answer to the person, if it has no tasks.
	Answer string
	// Questions ask the person for what is needed before anything can be planned.
	Questions []Question
	// Faults lists everything that is wrong, Warnings what was repaired.
	Faults, Warnings events.Faults
}

// Check decodes a plan in any dialect and checks it against the cards. It reports all faults together and returns a plan
// only if there is none.
func Check(raw []byte, cards []events.Card, o Options) Result {
	d := &draft{rules: o.Draft, informed: o.Informed, retries: o.Retries, version: o.Version, discreet: o.Discreet}
	if !d.decode(raw) {
		return Result{Faults: d.faults.all(), Warnings: d.warnings.all()}
	}
	result := Result{Dialect: d.dialect, Head: d.plan, Steps: len(d.steps), Questions: d.questions}
	d.firstResearch()
	if len(d.steps) == 0 && len(d.faults.list) == 0 {
		result.Answer = d.withoutSteps()
	} else {
		d.judge(newCatalog(cards), o)
		d.fit(o)
	}
	result.Faults, result.Warnings = d.faults.all(), d.warnings.all()
	if len(result.Faults) == 0 && result.Answer == "" {
		result.Plan = d.finish()
	}
	return result
}

// withoutSteps returns the answer of a plan without steps. A plan without an answer, or one that needs more information, is
// a fault.
func (d *draft) withoutSteps() string {
	d.judgeHead()
	guidance := d.plan.GuidanceMessage
	if guidance == "" {
		guidance = d.plan.Reason
	}
	switch {
	case d.plan.Adequate != nil && !*d.plan.Adequate:
		d.inadequate()
	case strings.TrimSpace(guidance) != "":
		return guidance
	default:
		d.faults.add(events.CodeMissing, d.stepsField(), "the plan has no steps", emptyHint)
	}
	return ""
}

func (d *draft) inadequate() {
	message := "the plan says of itself that it is not adequate"
	if d.plan.Reason != "" {
		message += ": " + clip.Marked(d.plan.Reason, 2000)
	}
	hint := "complete the plan, or leave adequate out"
	if d.plan.GuidanceMessage != "" {
		hint = clip.Marked(d.plan.GuidanceMessage, 2000)
	}
	d.faults.add(events.CodeRejected, "adequate", message, hint)
}

func (d *draft) stepsField() string {
	switch d.dialect {
	case ValueCell:
		return "tasks"
	case DeerGo, OpenManus:
		return "steps"
	case Native:
		return "subjobs"
	}
	return ""
}

// judge runs every check. No check depends on the outcome of another, so that all faults are reported together.
func (d *draft) judge(c *catalog, o Options) {
	if d.plan.Adequate != nil && !*d.plan.Adequate {
		d.inadequate()
	}
	if !d.advised() {
		d.judgeCount(o.MaxSteps)
	}
	d.judgeHead()
	d.unsearched()
	d.lookUp()
	edges := d.identify(o)
	for i := range d.steps {
		s := &d.steps[i]
		d.judgeTexts(s)
		d.vagueSchedule(s)
		d.judgeValues(s, o)
		s.timeout, s.retries = s.Timeout, s.Retries
		d.assign(s, c, o.DefaultExpert)
		d.translate(s, c, o.Locale)
		d.recur(s, c)
	}
	d.judgeOrder(edges)
}

// advised reports whether the number of steps is advice: in plans of models, which are made shorter.
func (d *draft) advised() bool { return d.rules != nil && d.version >= 1 }

// fit makes a good plan of a model shorter if it has more steps than advised. The job's own limit holds afterwards.
func (d *draft) fit(o Options) {
	if !d.advised() || len(d.faults.list) > 0 {
		return
	}
	d.shorten(d.rules.Advised)
	d.judgeCount(o.MaxSteps)
}

func (d *draft) judgeCount(most int) {
	if most > 0 && len(d.steps) > most {
		d.faults.add(events.CodeTooLarge, d.stepsField(), fmt.Sprintf("%d steps, at most %d", len(d.steps), most),
			"plan fewer steps, or raise limits.max_steps")
	}
}

func (d *draft) judgeHead() {
	for _, text := range []struct{ field, value string }{
		{"plan_id", d.plan.PlanID},
		{"title", d.plan.Title},
		{"locale", d.plan.Locale},
		{"thought", d.plan.Thought},
		{"reason", d.plan.Reason},
		{"guidance_message", d.plan.GuidanceMessage},
		{"orig_query", d.plan.OrigQuery},
		{"created_at", d.plan.CreatedAt},
	} {
		d.judgeSize(text.field, text.value)
	}
}

func (d *draft) judgeSize(field, value string) {
	if len(value) > MaxText {
		d.faults.add(events.CodeTooLarge, field, fmt.Sprintf("%d bytes, at most %d", len(value), MaxText),
			"shorten it, or hand large data over as an input or attachment of the job")
	}
}

func (d *draft) judgeTexts(s *step) {
	if strings.TrimSpace(s.Goal) == "" && !s.Done() {
		d.faults.add(events.CodeMissing, s.at(s.goalField), "says nothing", "say what to do")
	}
	for _, text := range []struct{ field, value string }{
		{s.goalField, s.Goal},
		{"title", s.Title},
		{"context", s.Context},
		{"completion_criteria", s.CompletionCriteria},
		{"thinking", s.Thinking},
		{"language", s.Language},
		{"type", s.Type},
		{"tag", s.Tag},
		{"output_schema", string(s.OutputSchema)},
	} {
		if len(text.value) > MaxText {
			d.judgeSize(s.at(text.field), text.value)
		}
	}
}

func (d *draft) judgeValues(s *step, o Options) {
	s.Schedule = d.judgeSchedule(s, o.Zone, o.Timezone)
	s.Type = strings.ToLower(strings.TrimSpace(s.Type))
	switch s.Type {
	case "", "research", "processing", "analysis":
	default:
		d.warnings.add(events.CodeInvalid, s.at("type"), fmt.Sprintf("unknown type %.40q", s.Type), "the types are research, processing and analysis")
	}
	if len(s.OutputSchema) > 0 && o.Schema != nil {
		if err := o.Schema(s.OutputSchema); err != nil {
			d.faults.put(events.Fault{Code: events.CodeInvalid, Field: s.at("output_schema"), Message: "is no JSON Schema", Cause: clip.Marked(err.Error(), 400)})
		}
	}
	d.judgeWhen(s)
	if len(s.Artifacts) > 0 && !s.Done() {
		d.faults.add(events.CodeInvalid, s.at("artifacts"), "are the files of a result, and there is none", "give `execution_res` with them")
	}
}

// judgeWhen checks that a condition can be parsed and reads only direct predecessors: other steps may not have a result yet
// when it is evaluated.
func (d *draft) judgeWhen(s *step) {
	if s.When == "" {
		return
	}
	condition, err := graph.ParseCondition(s.When)
	if err != nil {
		d.faults.put(events.Fault{
			Code: events.CodeInvalid, Field: s.at("when"), Message: "cannot be read", Cause: clip.Marked(err.Error(), 400),
			Hint: `compare values of direct predecessors: "survey.files > 0 and not survey.partial"`,
		})
		return
	}
	direct := make(map[string]bool, len(s.Dependencies))
	for _, id := range s.Dependencies {
		direct[id] = true
	}
	for _, id := range condition.SubJobs() {
		if !direct[id] {
			d.faults.add(events.CodeDangling, s.at("when"), fmt.Sprintf("reads %.80q, which is no direct predecessor", id),
				"add it to dependencies; the direct predecessors are "+some(s.Dependencies, 8))
		}
	}
}

// finish assembles the plan from its steps.
func (d *draft) finish() *events.Plan {
	p := d.plan
	p.SubJobs = make([]events.SubJob, len(d.steps))
	for i := range d.steps {
		p.SubJobs[i] = d.steps[i].SubJob
	}
	return &p
}
