package plan

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// native reads {"subjobs":[…]}. It is the only dialect that people write by hand, so an unknown field is a fault: a
// mistyped "dependencies" would silently run steps in the wrong order.
func (d *draft) native(r reader) {
	d.head(r)
	list := r.list("subjobs")
	d.steps = make([]step, 0, len(list))
	room := make([]field, 0, smallObject)
	for i, raw := range list {
		if s, ok := d.readInto(raw, "subjobs["+strconv.Itoa(i)+"]", room); ok {
			d.steps = append(d.steps, s.nativeStep())
			s.refuse(nativeFields)
		}
	}
	r.refuse("plan_id, title, locale, thought, has_enough_context, adequate, reason, guidance_message, orig_query, created_at, subjobs")
}

const nativeFields = "id, goal, title, context, completion_criteria, dependencies, expert, type, tag, needs, thinking, " +
	"language, output_schema, life_cycle, retries, timeout, when, schedule, execution_res"

// head reads the fields of the plan itself, in all dialects.
func (d *draft) head(r reader) {
	d.plan = events.Plan{
		PlanID: r.text("plan_id"), Title: r.text("title"), Locale: r.text("locale"), Thought: r.text("thought"),
		HasEnoughContext: r.flag("has_enough_context"), Adequate: r.flag("adequate"), Reason: r.text("reason"),
		GuidanceMessage: r.text("guidance_message"), OrigQuery: r.text("orig_query"), CreatedAt: r.text("created_at"),
	}
}

func (r *reader) nativeStep() step {
	s := step{path: r.path, expertField: "expert", goalField: "goal"}
	r.need("id", "goal")
	s.SubJob = events.SubJob{
		ID: r.text("id"), Name: r.text("name"), Goal: r.text("goal"), Title: r.text("title"),
		Context: r.text("context"), CompletionCriteria: r.text("completion_criteria"),
		Dependencies: r.words("dependencies"), Expert: r.text("expert"), Type: r.text("type"), Tag: r.text("tag"),
		Needs: r.words("needs"), Thinking: r.text("thinking"), Language: r.text("language"),
		LifeCycle: r.count("life_cycle"), Retries: r.count("retries"), When: r.text("when"),
		Schedule: r.schedule("schedule"),
	}
	if alias := r.text("assigned_expert"); s.Expert == "" {
		s.Expert = alias
	} else if alias != "" && alias != s.Expert {
		r.draft.faults.add(events.CodeConflict, s.at("assigned_expert"), "given together with expert", "keep one of the two")
	}
	s.Timeout = r.timeout("timeout")
	s.OutputSchema = r.raw("output_schema")
	s.ExecutionRes = r.raw("execution_res")
	s.ExecutionRef = r.reference("execution_ref")
	r.into("artifacts", "a list of references", &s.Artifacts)
	r.passOver("expert_name", "pool", "pure") // These come from an earlier check; the cards decide again.
	return s
}

// raw returns a field unchanged; null counts as absent.
func (r *reader) raw(name string) json.RawMessage {
	if raw, ok := r.value(name); ok {
		return raw
	}
	return nil
}

func (r *reader) reference(name string) *events.Ref {
	if !r.has(name) {
		return nil
	}
	var ref events.Ref
	if !r.into(name, "a reference", &ref) {
		return nil
	}
	return &ref
}

func (r *reader) timeout(name string) *events.Duration {
	raw, ok := r.value(name)
	if !ok {
		return nil
	}
	var span events.Duration
	if err := span.UnmarshalJSON(raw); err != nil {
		r.draft.faults.put(events.Fault{Code: events.CodeInvalid, Field: join(r.path, name), Message: "is no duration", Cause: clip.Marked(err.Error(), 200)})
		return nil
	}
	if span == 0 {
		r.draft.faults.add(events.CodeInvalid, join(r.path, name), "must be above 0", "leave it out for none")
		return nil
	}
	return &span
}

// refuse records a fault for each unread field, or a warning if a model wrote the plan.
func (r *reader) refuse(known string) {
	note := &r.draft.faults
	if r.draft.rules != nil {
		note = &r.draft.warnings
	}
	for _, name := range r.unread() {
		note.add(events.CodeUnknownField, join(r.path, name), fmt.Sprintf("unknown field %.80q", name), "known fields: "+known)
	}
}
