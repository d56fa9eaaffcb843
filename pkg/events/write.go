package events

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
)

// writer writes an object as json.Marshal would write the struct, without reflection. Its first error stays.
type writer struct {
	b   []byte
	err error
}

// written is a payload that writes itself: the same bytes as json.Marshal, in less time.
type written interface {
	write(w *writer)
}

// Verbatim is a payload that Marshal has written before; it is passed on as it is.
type Verbatim []byte

// MarshalJSON gives the bytes.
func (v Verbatim) MarshalJSON() ([]byte, error) { return v, nil }

// Marshal is json.Marshal, without reflection for what is written most.
func Marshal(v any) ([]byte, error) {
	if done, ok := v.(Verbatim); ok {
		return done, nil
	}
	p, ok := v.(written)
	if !ok {
		return json.Marshal(v)
	}
	w := &writer{b: make([]byte, 0, 512)}
	p.write(w)
	return w.b, w.err
}

// Header makes a header of names and values, in turn.
func Header(pairs ...string) map[string][]string {
	h := make(map[string][]string, len(pairs)/2+2) // A publish adds what it expects.
	for i := 0; i+1 < len(pairs); i += 2 {
		h[pairs[i]] = pairs[i+1 : i+2 : i+2]
	}
	return h
}

func (w *writer) open()  { w.b = append(w.b, '{') }
func (w *writer) close() { w.b = append(w.b, '}') }

// sep writes the comma before every field but the first.
func (w *writer) sep() {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
}

func (w *writer) key(name string) {
	w.sep()
	w.b = append(append(append(w.b, '"'), name...), '"', ':')
}

// string writes a text in quotes.
func (w *writer) string(text string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			w.value(text)
			return
		}
	}
	w.b = append(append(append(w.b, '"'), text...), '"')
}

// value writes anything by encoding/json.
func (w *writer) value(v any) {
	part, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.b = append(w.b, part...)
}

// must writes a text even when it is empty, text leaves it out then.
func (w *writer) must(name, text string) {
	w.key(name)
	w.string(text)
}

func (w *writer) text(name, text string) {
	if text != "" {
		w.must(name, text)
	}
}

func (w *writer) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.key(name)
	w.b = append(w.b, '[')
	for i, text := range list {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.string(text)
	}
	w.b = append(w.b, ']')
}

// mustInt writes a number even when it is 0, int leaves it out then.
func (w *writer) mustInt(name string, n int64) {
	w.key(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *writer) int(name string, n int64) {
	if n != 0 {
		w.mustInt(name, n)
	}
}

func (w *writer) flag(name string, on bool) {
	if on {
		w.key(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *writer) time(name string, t time.Time) {
	if t.IsZero() {
		return
	}
	w.key(name)
	w.b = append(w.b, '"')
	text, err := t.AppendText(w.b)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.b = append(text, '"')
}

// some writes a value by encoding/json when it is there.
func (w *writer) some(name string, there bool, v any) {
	if there {
		w.key(name)
		w.value(v)
	}
}

func (d *Work) write(w *writer) {
	w.open()
	w.must("kind", string(d.Kind))
	w.must("job", d.Job)
	w.must("subjob", d.SubJob)
	w.mustInt("run", int64(d.Run))
	w.mustInt("attempt", int64(d.Attempt))
	w.int("resume_of", int64(d.ResumeOf))
	w.key("spec")
	d.Spec.write(w)
	w.must("goal", d.Goal)
	w.text("context", d.Context)
	w.text("completion_criteria", d.CompletionCriteria)
	w.some("inputs", len(d.Inputs) > 0, d.Inputs)
	w.some("inputs_ref", d.InputsRef != nil, d.InputsRef)
	w.some("attachments", len(d.Attachments) > 0, d.Attachments)
	w.results(d.Results)
	w.some("results_ref", d.ResultsRef != nil, d.ResultsRef)
	w.texts("lessons", d.Lessons)
	w.some("answers", len(d.Answers) > 0, d.Answers)
	w.texts("select", d.Select)
	w.mustInt("life_cycle", int64(d.LifeCycle))
	w.time("deadline", d.Deadline)
	w.text("session", d.Session)
	w.text("user", d.User)
	w.text("locale", d.Locale)
	w.some("request", d.Request != nil, d.Request)
	w.int("plan_version", int64(d.PlanVersion))
	w.int("max_steps", int64(d.MaxSteps))
	w.texts("finished", d.Finished)
	w.must("report_subject", d.ReportSubject)
	w.must("report_id", d.ReportID)
	w.must("idempotency_key", d.IdempotencyKey)
	w.must("claim_subject", d.ClaimSubject)
	w.must("lease", d.Lease.Std().String())
	w.must("cancel_subject", d.CancelSubject)
	w.close()
}

func (w *writer) results(m map[string]Result) {
	if len(m) == 0 {
		return
	}
	w.key("results")
	w.open()
	for _, id := range slices.Sorted(maps.Keys(m)) {
		w.sep()
		w.string(id)
		w.b = append(w.b, ':')
		r := m[id]
		w.open()
		w.some("output", len(r.Output) > 0, r.Output)
		w.some("output_ref", r.OutputRef != nil, r.OutputRef)
		w.int("run", int64(r.Run))
		w.flag("skipped", r.Skipped)
		w.close()
	}
	w.close()
}

func (j *SubJob) write(w *writer) {
	w.open()
	w.must("id", j.ID)
	w.text("name", j.Name)
	w.must("goal", j.Goal)
	w.text("title", j.Title)
	w.text("context", j.Context)
	w.text("completion_criteria", j.CompletionCriteria)
	w.texts("dependencies", j.Dependencies)
	w.text("expert", j.Expert)
	w.text("expert_name", j.ExpertName)
	w.text("pool", j.Pool)
	w.flag("pure", j.Pure)
	w.text("type", j.Type)
	w.text("tag", j.Tag)
	w.texts("needs", j.Needs)
	w.text("thinking", j.Thinking)
	w.text("language", j.Language)
	w.some("output_schema", len(j.OutputSchema) > 0, j.OutputSchema)
	w.some("life_cycle", j.LifeCycle != nil, j.LifeCycle)
	w.some("retries", j.Retries != nil, j.Retries)
	w.some("timeout", j.Timeout != nil, j.Timeout)
	w.text("when", j.When)
	w.some("schedule", j.Schedule != nil, j.Schedule)
	w.some("execution_res", len(j.ExecutionRes) > 0, j.ExecutionRes)
	w.some("execution_ref", j.ExecutionRef != nil, j.ExecutionRef)
	w.close()
}

func (r *SubJobReported) write(w *writer) {
	w.open()
	w.must("outcome", string(r.Outcome))
	w.some("output", len(r.Output) > 0, r.Output)
	w.some("output_ref", r.OutputRef != nil, r.OutputRef)
	w.text("lesson", r.Lesson)
	w.some("error", r.Error != nil, r.Error)
	w.time("started", r.Started)
	w.int("duration_ms", r.DurationMS)
	w.text("owner", r.Owner)
	w.some("selected", len(r.Selected) > 0, r.Selected)
	w.some("retry_after", r.RetryAfter != 0, r.RetryAfter)
	w.int("tokens", r.Tokens)
	w.some("cost_usd", r.CostUSD != 0, r.CostUSD)
	w.text("job", r.Job)
	w.text("subjob", r.SubJob)
	w.int("run", int64(r.Run))
	w.text("malformed", r.Malformed)
	w.close()
}

func (r *JournalRecord) write(w *writer) {
	w.open()
	w.must("type", string(r.Type))
	w.mustInt("run", int64(r.Run))
	w.text("owner", r.Owner)
	if r.Lease != 0 {
		w.must("lease", r.Lease.Std().String())
	}
	w.text("key", r.Key)
	w.text("name", r.Name)
	w.flag("safe", r.Safe)
	w.some("data", len(r.Data) > 0, r.Data)
	w.some("ref", r.Ref != nil, r.Ref)
	w.text("reason", r.Reason)
	w.close()
}

func (a *JobAdvanced) write(w *writer) {
	w.open()
	w.mustInt("from", int64(a.From))
	w.mustInt("to", int64(a.To))
	w.key("transitions")
	if a.Transitions == nil {
		w.b = append(w.b, "null"...)
		w.close()
		return
	}
	w.b = append(w.b, '[')
	for i := range a.Transitions {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		t := &a.Transitions[i]
		w.open()
		w.must("subjob", t.SubJob)
		w.int("run", int64(t.Run))
		w.must("transition", t.Transition)
		w.mustInt("cause", int64(t.Cause))
		w.close()
	}
	w.b = append(w.b, ']')
	w.close()
}
