package planning

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/events/moment"
	"github.com/jobgraph/jobgraph/services/planner/internal/finish"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// Vars are the variables that prompts may use.
type Vars struct {
	// Now is the time in RFC 3339; Locale is the language to write in.
	Now, Locale string
	// Goal is the request as typed, Query its wording after triage and clarification, Context what came with it.
	Goal, Query, Context string
	// MaxSteps limits the steps of the plan, MaxRounds the rounds of planning; Round is the number of this round.
	MaxSteps, MaxRounds, Round int
	// Experts are the experts that plans may use.
	Experts []Expert
	// History is the conversation so far, cut to its limit.
	History string
	// Lessons are those of earlier runs, Wishes the changes that the person wants, Told their answers to questions.
	Lessons, Wishes, Told []string
	// Findings is one block of data, each finding between tags that its text cannot contain.
	Findings string
	// Background is what the planning of a part knows about the whole, as data: the original request and the present plan.
	Background string
	// Faults are the faults of the draft, one per line, Raw the draft, Unknown the experts that it invented.
	Faults  []string
	Raw     string
	Unknown []string
	// Model is the model's name for people. Unreachable is true if it could not be asked, Malformed if it returned no plan.
	Model                  string
	Unreachable, Malformed bool
	// Part is the step to split; Finished are the finished steps.
	Part     *events.SubJob
	Finished []string
	// Example is a plan in the wanted form. Plan is the latest valid plan as JSON, Text the same for people.
	Example, Plan, Text string
	// Notes say what was changed in Plan, and why, one line each.
	Notes []string
	// Last is true when no edit is left, Again when the last answer was not understood, Beyond when it was an edit but no
	// round is left. Schedules lists the recurring steps.
	Last, Again, Beyond bool
	Schedules           []string
	// Missing says what is missing, if the plan says that it does not have enough context. Unworked says why the last edit was not
	// applied. Assume is true if the model has to make assumptions, since no person answers.
	Missing  string
	Unworked []string
	Assume   bool
	// Offline is true if the request allows no tool that reaches the web.
	Offline bool
	// Reserved is true if the plan names experts that exist but that plans may not use.
	Reserved bool
	// Clarify is how many more questions may be asked. Style is the wanted style of the report.
	Clarify int
	Style   string
	// Report is true for a report, false for a summary. Title and Thought come from the executed plan, Steps are its
	// results, Words is the text written about them. Sources are the sources that the results cite or, once Words is set,
	// those that Words leaves out.
	Report                bool
	Title, Thought, Words string
	Steps                 []finish.Step
	Sources               []finish.Source
}

// Expert is a card in the form that prompts show.
type Expert struct {
	// ID and Name identify it; plans may use either.
	ID, Name, Description string
	// Skills, Tags and Examples say what the expert is good at; Abilities lists what else it can do.
	Skills, Tags, Examples, Abilities []string
	// Languages are the languages that it knows; empty means any.
	Languages []string
	// Live is true if the expert's card was refreshed lately; otherwise Seen is when it was last refreshed.
	Live bool
	Seen string
}

const (
	maxTitle   = 200
	maxMessage = 4000
	maxPrompt  = 16 << 10
	maxQuery   = 32 << 10
	// liveFor is how long an expert counts as live after its card was refreshed.
	liveFor = 90 * time.Second
)

// render renders the prompt of a stage. If that fails, planning ends with a bug of its profile.
func (s *core) render(name string) (Prompt, bool) {
	name = s.named(name)
	p, err := s.ports.Render(name, s.state.Locale, s.vars())
	if err == nil {
		return p, true
	}
	s.state.Unreachable = true
	s.state.Faults = events.Faults{{
		Code: events.CodeInternal, Message: fmt.Sprintf("prompt %.80q cannot be made", name), Cause: clip.Marked(err.Error(), maxMessage), Hint: "correct the profile's prompts",
	}}
	return Prompt{}, false
}

// named returns the name of the prompt that the profile uses for a stage.
func (s *core) named(name string) string {
	if other := s.start.Profile.Prompts[name]; other != "" {
		return other
	}
	return name
}

func (s *core) vars() Vars {
	t, c := &s.start, &s.state.Counts
	limits := &t.Profile.Limits
	v := Vars{
		Now: t.Now.In(s.zone(t.Request.Timezone)).Format(time.RFC3339), Locale: s.state.Locale, Goal: t.goal(), Query: s.state.Query, Context: t.Request.Context,
		MaxSteps: s.maxSteps(), MaxRounds: s.maxRounds(), Round: c.Rounds, Experts: s.experts(),
		Lessons: t.Lessons, Wishes: s.state.Wishes, Told: s.state.Told, Model: t.ModelName,
		Part: t.Part, Finished: t.Finished, Plan: compact(s.state.Plan), Last: s.last(), Again: s.state.Reminders > 0, Beyond: s.state.Beyond,
		Unworked: s.state.Unworked, Assume: s.state.Assumed || t.unattended(),
		Offline: t.Request.Tools.Offline(), Clarify: max(0, limits.Clarifications-c.Clarify), Style: t.Request.ReportStyle, Raw: clip.Marked(s.state.Raw, limits.rawBytes()),
	}
	if t.Part != nil && t.Mode == events.WorkSplit {
		v.Context = t.Part.Context
	}
	history, findings := limits.HistoryBytes, limits.FindingBytes
	if s.state.Short {
		history, findings = 0, findings/4
	}
	v.History, v.Findings = History(t.History, history), Delimited(s.state.Findings, findings)
	v.Background = t.background()
	v.Example = example(plan.Dialect(t.Profile.Dialect), v.Experts)
	for i := range s.state.Faults {
		f := &s.state.Faults[i]
		v.Faults = append(v.Faults, lesson(f))
		v.Malformed = v.Malformed || f.Code == events.CodeMalformed
		v.Unreachable = v.Unreachable || f.Code == events.CodeUnavailable
		switch {
		case f.Code == events.CodeHiddenExpert && t.decides():
			v.Reserved = true
		case f.Code == events.CodeUnknownExpert || f.Code == events.CodeHiddenExpert:
			v.Unknown = append(v.Unknown, f.Message)
		}
	}
	if t.Profile.Triage.Direct || t.unattended() {
		v.Clarify = 0
	}
	if s.lacking() && !s.approved() {
		v.Missing = strings.TrimSpace(s.state.Plan.Thought)
	}
	if s.state.Plan != nil {
		v.Text, v.Schedules = plan.Text(s.state.Plan), s.schedules(s.state.Plan)
		for i := range s.state.Warnings {
			if s.state.Warnings[i].Field == editField {
				continue // Unworked says it already.
			}
			v.Notes = append(v.Notes, s.state.Warnings[i].Error())
		}
	}
	if t.Finish != nil {
		s.material(&v)
	}
	return v
}

// example returns a plan in the wanted form. It names existing experts, since models copy what they see.
func example(dialect plan.Dialect, experts []Expert) string {
	text := plan.Example(dialect)
	if len(experts) == 0 {
		return text
	}
	var pairs []string
	for i, name := range []string{"Design Expert", "Extraction Expert", "Analysis Expert"} {
		e := &experts[i%len(experts)]
		pairs = append(pairs, quoted(name), quoted(e.Name), "["+strings.ToUpper(strings.TrimSuffix(name, " Expert"))+"]", "["+strings.ToUpper(e.ID)+"]")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// quoted returns a text as a JSON string.
func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(raw)
}

// lesson writes a fault in one line, with its hint.
func lesson(f *events.Fault) string {
	text := f.Error()
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	return text
}

func (s *core) schedules(p *events.Plan) []string {
	var list []string
	for i := range p.SubJobs {
		j := &p.SubJobs[i]
		if j.Schedule == nil {
			continue
		}
		when := plan.When(j.Schedule)
		if s.start.decides() {
			when = plan.Recurs(j.Schedule, s.next(j.Schedule))
		}
		list = append(list, strings.TrimSpace(cmp.Or(j.Title, j.Goal)+": "+when))
	}
	return list
}

// next returns the first time of a schedule after the beginning of planning, in the zone of the schedule, else of the request.
func (s *core) next(when *events.Schedule) time.Time {
	rule, faults := moment.NewRule(when, s.start.Now, s.zones)
	if len(faults) > 0 {
		return time.Time{}
	}
	next := rule.Next(s.start.Now)
	if next.IsZero() {
		return next
	}
	return next.In(s.zone(cmp.Or(when.Timezone, s.start.Request.Timezone)))
}

// zones finds a time zone through the port.
func (s *core) zones(name string) (*time.Location, error) {
	if s.ports.Zones == nil || name == "" {
		return time.UTC, nil
	}
	return s.ports.Zones(name)
}

// zone returns a time zone by name, UTC if there is none.
func (s *core) zone(name string) *time.Location {
	if zone, err := s.zones(name); err == nil {
		return zone
	}
	return time.UTC
}

// experts returns the cards that plans may use, sorted by id.
func (s *core) experts() []Expert {
	var list []Expert
	for i := range s.state.Cards {
		c := &s.state.Cards[i]
		if c.Hidden || c.Disabled || c.Passthrough {
			continue
		}
		e := Expert{
			ID: c.ID, Name: clip.Marked(cmp.Or(c.Name, c.ID), maxName), Description: clip.Marked(c.Description, maxDescription),
			Skills: words(c.Skills), Tags: words(c.Tags), Languages: words(c.Languages), Examples: examples(c.Examples, s.start.Examples[c.ID]),
			Live: c.Seen.IsZero() || s.start.Now.Sub(c.Seen) <= liveFor,
		}
		if c.Pure {
			e.Abilities = append(e.Abilities, "no side effects")
		}
		if c.Concurrency > 0 {
			e.Abilities = append(e.Abilities, fmt.Sprintf("%d at once", c.Concurrency))
		}
		if len(c.OutputSchema) > 0 {
			e.Abilities = append(e.Abilities, "structured result")
		}
		if !e.Live {
			e.Seen = c.Seen.UTC().Format(time.RFC3339)
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b Expert) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// Limits of what prompts say about an expert, in bytes, except for the number of examples. A runner writes the cards of its experts, and one of
// them must not leave a model no room for anything else.
const (
	maxName        = 200
	maxDescription = 4000
	maxWords       = 1000 // Of skills, tags and languages each.
	maxExamples    = 5
	maxExample     = 200
)

// words returns the first of a list that fit.
func words(list []string) []string {
	n := 0
	for i, word := range list {
		if n += len(word); n > maxWords {
			return list[:i]
		}
	}
	return list
}

// examples returns the examples of the card, then requests that the expert got before.
func examples(lists ...[]string) []string {
	var kept []string
	for _, text := range slices.Concat(lists...) {
		text = strings.Join(strings.Fields(text), " ")
		if text = clip.Marked(text, maxExample); text != "" && len(kept) < maxExamples && !slices.Contains(kept, text) {
			kept = append(kept, text)
		}
	}
	return kept
}

// messages returns the two messages of a rendered prompt.
func messages(p Prompt) []Message {
	var list []Message
	if text := strings.TrimSpace(p.System); text != "" {
		list = append(list, Message{Role: "system", Text: text})
	}
	return append(list, Message{Role: "user", Text: strings.TrimSpace(p.User)})
}

func (l *Limits) rawBytes() int {
	if l.RawBytes > 0 {
		return l.RawBytes
	}
	return 16 << 10
}

// validLocale accepts texts in the form of BCP 47.
func validLocale(text string) bool {
	if len(text) < 2 || len(text) > 35 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return text[0] != '-' && text[len(text)-1] != '-'
}
