package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
	"github.com/jobgraph/jobgraph/pkg/events/toolset"
)

// aliases are the names that predecessor systems use for request fields.
var aliases = map[string]string{
	"query": "goal", "conversation_id": "session", "session_id": "session", "thread_id": "thread", "user_id": "user", "time_zone": "timezone",
	"target_agent_name": "expert", "assigned_expert_name": "expert",
	"max_step_num": "limits.max_steps", "max_plan_iterations": "limits.max_plan_rounds",
	"auto_accepted_plan": "auto_accept", "enable_background_investigation": "investigate",
	"enable_web_search": "tools.web", "max_search_results": "tools.results", "mcp_settings": "tools.servers",
}

// deepThinking is a predecessor's field that chooses a model of the operator.
const deepThinking = "enable_deep_thinking"

// DecodeRequest decodes a job request. It accepts alternative field names of predecessor systems and is strict otherwise:
// it returns all faults, not just the first.
func DecodeRequest(body []byte) (Request, Faults) {
	var r Request
	if s := plainjson.NewScanner(body); s.Object(r.scanUsual(s)) && s.End() {
		return r, r.Validate()
	}
	return decodeFields(body)
}

// scanUsual reads requests that have only common fields, with the same result as decodeFields.
func (r *Request) scanUsual(s *plainjson.Scanner) func(key []byte) bool {
	scan := r.scan(s)
	return func(key []byte) bool {
		switch string(key) {
		case "goal", "id", "context", "session", "thread", "user", "locale", "profile", "expert", "plan", "priority", "finalize", "timezone":
			return scan(key)
		}
		return false
	}
}

func decodeFields(body []byte) (Request, Faults) {
	var r Request
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return r, Faults{malformedRequest(body, err)}
	}
	faults := append(unfold(fields), r.assign(fields)...)
	faulty := slices.ContainsFunc(faults, func(f Fault) bool { return f.Code == CodeInvalid && strings.Contains("goal query plan", f.Field) })
	return r, append(faults, slices.DeleteFunc(r.Validate(), func(f Fault) bool { return faulty && f.Code == CodeMissing })...)
}

// unfold moves the fields of "meta", in which a predecessor system sends the conversation and the user, to the top level.
func unfold(fields map[string]json.RawMessage) Faults {
	raw, ok := fields["meta"]
	if !ok {
		return nil
	}
	delete(fields, "meta")
	var meta map[string]json.RawMessage
	if err := json.Unmarshal(raw, &meta); err != nil {
		return Faults{{Code: CodeInvalid, Field: "meta", Message: "wrong type or value", Cause: plainjson.Misfit(err)}}
	}
	var faults Faults
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		to, known := aliases[name]
		_, twice := fields[name]
		_, both := fields[to]
		switch {
		case !known || name != "conversation_id" && name != "user_id":
			faults = append(faults, Fault{Code: CodeUnknownField, Field: "meta." + name, Message: fmt.Sprintf("unknown field %.80q", name), Hint: "known fields: conversation_id, user_id"})
		case twice || both:
			faults = append(faults, Fault{Code: CodeConflict, Field: "meta." + name, Message: "given together with " + to, Hint: "keep one of the two"})
		default:
			fields[name] = meta[name]
		}
	}
	return faults
}

func malformedRequest(body []byte, err error) Fault {
	f := Fault{Code: CodeMalformed, Message: "a job request is one JSON object", Hint: `send {"goal":"…"}`}
	if err != nil {
		f.Cause = plainjson.Misfit(err)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		f.Message = "the job request is empty"
	}
	return f
}

func (r *Request) assign(fields map[string]json.RawMessage) Faults {
	var faults Faults
	known := r.fields()
	for _, given := range slices.Sorted(maps.Keys(fields)) {
		name := given
		if to, ok := aliases[given]; ok {
			if _, both := fields[to]; both {
				faults = append(faults, Fault{Code: CodeConflict, Field: given, Message: "given together with " + to, Hint: "keep one of the two"})
				continue
			}
			name = to
		}
		target, ok := known[name]
		if value := string(fields[given]); given == deepThinking {
			if value != "false" && value != "null" {
				faults = append(faults, Fault{Code: CodeNotPermitted, Field: given, Message: "cannot be set with a request", Hint: `"models": {"planner": "NAME"} plans with a configured model that reasons`})
			}
			continue
		}
		if !ok {
			faults = append(faults, Fault{Code: CodeUnknownField, Field: given, Message: fmt.Sprintf("unknown field %.80q", given), Hint: "known fields: " + topLevel(known)})
			continue
		}
		if err := strict(fields[given], target); errors.Is(err, toolset.ErrOwnServer) {
			faults = append(faults, Fault{
				Code: CodeNotPermitted, Field: given, Message: err.Error(),
				Hint: `name one by enabled_tools and add_to_agents alone, or as "tools": {"servers": {"NAME": {}}}; a server is lent by mcpServers.NAME.lend of jobgraph.yaml`,
			})
		} else if err != nil {
			faults = append(faults, Fault{Code: CodeInvalid, Field: given, Message: "wrong type or value", Cause: plainjson.Misfit(err)})
		}
	}
	return faults
}

// topLevel lists the fields of the request itself; aliases may refer to nested ones.
func topLevel(known map[string]any) string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(name string) bool { return strings.Contains(name, ".") })
	return strings.Join(names, ", ")
}

func (r *Request) fields() map[string]any {
	return map[string]any{
		"goal": &r.Goal, "id": &r.ID, "context": &r.Context, "session": &r.Session, "new": &r.New, "thread": &r.Thread, "user": &r.User,
		"locale": &r.Locale, "profile": &r.Profile, "expert": &r.Expert, "plan": &r.Plan, "plan_ref": &r.PlanRef,
		"inputs": &r.Inputs, "inputs_ref": &r.InputsRef, "attachments": &r.Attachments, "labels": &r.Labels,
		"priority": &r.Priority, "auto_accept": &r.AutoAccept, "investigate": &r.Investigate, "plan_cache": &r.PlanCache,
		"report_style": &r.ReportStyle, "models": &r.Models, "evaluator": &r.Evaluator, "limits": &r.Limits,
		"limits.max_steps": &r.Limits.MaxSteps, "limits.max_plan_rounds": &r.Limits.MaxPlanRounds,
		"failure_policy": &r.FailurePolicy, "knowledge": &r.Knowledge, "schedule": &r.Schedule, "finalize": &r.Finalize, "timezone": &r.Timezone,
		"tools": &r.Tools, "tools.web": &r.Tools.Web, "tools.results": &r.Tools.Results, "tools.servers": (*toolset.Foreign)(&r.Tools.Servers),
		"unattended": &r.Unattended, "unanswered": &r.Unanswered, "debug": &r.Debug,
	}
}

func strict(data []byte, target any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(target)
}

func (r *Request) scan(s *plainjson.Scanner) func(key []byte) bool {
	return func(key []byte) bool {
		switch string(key) {
		case "goal":
			return s.Text(&r.Goal)
		case "id":
			return s.Text(&r.ID)
		case "context":
			return s.Text(&r.Context)
		case "session":
			return s.Text(&r.Session)
		case "thread":
			return s.Text(&r.Thread)
		case "user":
			return s.Text(&r.User)
		case "locale":
			return s.Text(&r.Locale)
		case "profile":
			return s.Text(&r.Profile)
		case "expert":
			return s.Text(&r.Expert)
		case "plan":
			return s.Raw(&r.Plan)
		case "plan_ref":
			return s.Value(&r.PlanRef)
		case "inputs":
			return s.Value(&r.Inputs)
		case "labels":
			return s.Value(&r.Labels)
		case "limits":
			return s.Value(&r.Limits)
		}
		return r.scanRare(string(key), s)
	}
}

// scanRare reads fields that most requests lack.
func (r *Request) scanRare(key string, s *plainjson.Scanner) bool {
	switch key {
	case "inputs_ref":
		return s.Value(&r.InputsRef)
	case "attachments":
		return s.Value(&r.Attachments)
	case "priority":
		return s.Int(&r.Priority)
	case "auto_accept":
		return s.Value(&r.AutoAccept)
	case "investigate":
		return s.Value(&r.Investigate)
	case "plan_cache":
		return s.Value(&r.PlanCache)
	case "report_style":
		return s.Text(&r.ReportStyle)
	case "models":
		return s.Value(&r.Models)
	case "knowledge":
		return s.Texts(&r.Knowledge)
	case "tools":
		return s.Value(&r.Tools)
	case "evaluator":
		return s.Value(&r.Evaluator)
	case "failure_policy":
		return s.Text((*string)(&r.FailurePolicy))
	case "schedule":
		return s.Value(&r.Schedule)
	case "finalize":
		return s.Text(&r.Finalize)
	case "new":
		return s.Bool(&r.New)
	case "timezone":
		return s.Text(&r.Timezone)
	case "unattended":
		return s.Value(&r.Unattended)
	case "unanswered":
		return s.Text((*string)(&r.Unanswered))
	case "debug":
		return s.Bool(&r.Debug)
	}
	return false
}
