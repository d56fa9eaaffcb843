package verb

import (
	"slices"
	"strings"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Role is a right that a token gives. A person or program may have several.
type Role string

// The roles. Each includes Viewer; Admin includes all.
const (
	Viewer    Role = "viewer"    // May read everything.
	Submitter Role = "submitter" // May start jobs and answer questions that are not approvals.
	Approver  Role = "approver"  // May answer all questions.
	Operator  Role = "operator"  // May control jobs, schedules and dead letters.
	Admin     Role = "admin"     // May do everything, even in the name of other users.
)

// Roles lists the roles from the least powerful to the most.
func Roles() []Role { return []Role{Viewer, Submitter, Approver, Operator, Admin} }

// Effect is what a verb changes.
type Effect string

// The effects, from harmless to irreversible.
const (
	Read    Effect = "read"    // Changes nothing.
	Write   Effect = "write"   // Changes something; a repeat with the same identity changes nothing more.
	Destroy Effect = "destroy" // Removes something for good.
)

// Verb is one row of the table.
type Verb struct {
	// Name identifies it: jobs.api.<name> on the bus.
	Name string
	// About says in one sentence what it does.
	About string
	// Roles lists who may use it besides Admin: one of them is enough.
	Roles []Role
	// Own lets a Submitter use it for their own jobs.
	Own bool
	// Effect is what it changes.
	Effect Effect
	// Input and Output are values of the types of request and reply; nil means none. The fields of Input that the path names come
	// from there; those of a GET or DELETE come from the query.
	Input, Output any
	// Faults are the codes that its refusals may have, besides those that every verb may have.
	Faults []events.Code
	// On is the service that answers it on the bus; empty for a verb that only the gateway has.
	On string
	// Each is true if every process of the service answers for itself on the bus: a request gets one answer from each. The gateway
	// and our clients merge the lists.
	Each bool
	// By names the fields of the input that hold the user who asks. The gateway sets them.
	By []string
	// CLI is the command line that does the same: {id} stands for a job, {at} for a job or JOB/SUBJOB, {subjob} for a SubJob; empty if
	// there is none.
	CLI string
	// Method and Path are the HTTP route; empty if it has none. Also lists further paths.
	Method, Path string
	Also         []string
	// Status is the HTTP status of a success; 0 means 200.
	Status int
	// Stream is the type of the events that the route sends to those who accept text/event-stream; empty if it does not stream.
	Stream string
	// Media lists the media types of a success; JSON if empty.
	Media []string
	// API is the foreign API whose form the route has, including its refusals; empty for ours.
	API string
	// Tool offers the verb as a tool to clients of the Model Context Protocol.
	Tool bool
}

// common are the codes that every verb may return.
var common = []events.Code{
	events.CodeMalformed, events.CodeUnknownField, events.CodeInvalid, events.CodeMissing, events.CodeTooLarge, events.CodeUnavailable,
	events.CodeInternal, events.CodeUnauthenticated, events.CodeNotPermitted, events.CodeTooMany,
}

// Codes lists the codes that refusals of a verb may have over HTTP.
func (v *Verb) Codes() []events.Code {
	list := slices.Concat(common, v.Faults)
	slices.Sort(list)
	return slices.Compact(list)
}

// Permits reports whether someone with these roles may use the verb.
func (v *Verb) Permits(roles []Role) bool {
	return slices.ContainsFunc(roles, func(have Role) bool {
		return have == Admin || slices.Contains(v.Roles, have) || slices.Contains(v.Roles, Viewer) && slices.Contains(Roles(), have)
	})
}

// MayUse reports whether someone with these roles may use the verb, if only for their own jobs.
func (v *Verb) MayUse(roles []Role) bool {
	return v.Permits(roles) || v.Own && slices.Contains(roles, Submitter)
}

// Needs names the roles of which one is needed, for messages.
func (v *Verb) Needs() string {
	list := make([]string, 0, len(v.Roles)+1)
	for _, r := range v.Roles {
		list = append(list, string(r))
	}
	return strings.Join(append(list, string(Admin)), " or ")
}

// Paths lists the paths of a verb over HTTP.
func (v *Verb) Paths() []string {
	if v.Path == "" {
		return nil
	}
	return append([]string{v.Path}, v.Also...)
}

// Find returns the verb with a name; ok is false if there is none.
func Find(name string) (v Verb, ok bool) {
	at := slices.IndexFunc(All(), func(v Verb) bool { return v.Name == name })
	if at < 0 {
		return Verb{}, false
	}
	return All()[at], true
}

// All returns the table. Do not change it.
var All = sync.OnceValue(func() []Verb {
	list := slices.Concat(jobs(), control(), inspection(), sessions(), schedules(), supply(), rest(), plans(), models())
	for i := range list {
		list[i].Tool = slices.Contains(tools, list[i].Name)
	}
	return list
})

// Metadata describes a verb in the metadata of its endpoint on the bus.
func Metadata(name string) map[string]string {
	v, ok := Find(name)
	if !ok {
		return nil
	}
	m := map[string]string{"about": v.About, "effect": string(v.Effect), "roles": v.Needs()}
	codes := make([]string, 0, len(v.Faults))
	for _, c := range v.Faults {
		codes = append(codes, string(c))
	}
	if len(codes) > 0 {
		m["faults"] = strings.Join(codes, " ")
	}
	if v.Each {
		m["answers"] = "each process"
	}
	for key, schema := range map[string]string{"input_schema": v.InputSchema(), "output_schema": v.OutputSchema()} {
		if text, ok := Schema(schema); ok {
			m[key] = string(compact(text))
		}
	}
	return m
}
