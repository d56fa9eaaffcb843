package verb

import (
	"net/http"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// The services that answer verbs on the bus.
const (
	scheduler = "scheduler"
	planner   = "planner"
	runner    = "runner"
)

var (
	readers    = []Role{Viewer}
	submitters = []Role{Submitter}
	answerers  = []Role{Submitter, Approver}
	operators  = []Role{Operator}

	missing    = []events.Code{events.CodeNotFound}
	changeable = []events.Code{events.CodeNotFound, events.CodeConflict}
)

func jobs() []Verb {
	const at = "/api/v1/jobs"
	return []Verb{
		{
			Name: "submit", About: "Submits a job.", Roles: submitters, Effect: Write, Input: events.Request{}, Output: Receipt{}, On: scheduler, By: []string{"user"},
			Method: http.MethodPost, Path: at, Status: http.StatusCreated,
			Faults: []events.Code{events.CodeConflict, events.CodeDuplicateID, events.CodeCycle, events.CodeDangling, events.CodeUnknownExpert, events.CodeHiddenExpert, events.CodeNoPlanner, events.CodeBudget},
		},
		{Name: "list", About: "Lists jobs, newest first.", Roles: readers, Effect: Read, Input: JobQuery{}, Output: Jobs{}, On: scheduler, Method: http.MethodGet, Path: at},
		{Name: "get", About: "Shows the state of a job.", Roles: readers, Effect: Read, Input: Ref{}, Output: State{}, On: scheduler, Method: http.MethodGet, Path: at + "/{id}", Faults: missing},
		{Name: "delete", About: "Removes everything of a job that has ended or is in quarantine.", Roles: operators, Effect: Destroy, Input: Ref{}, Output: Deleted{}, On: scheduler, CLI: "jobgraph delete {id} --force", Method: http.MethodDelete, Path: at + "/{id}", Faults: changeable},
		{Name: "why", About: "Says why a job or SubJob does not run, and what would unblock it.", Roles: readers, Effect: Read, Input: SubJobRef{}, Output: Reasons{}, On: scheduler, Method: http.MethodGet, Path: at + "/{id}/why", Faults: missing},
		{
			Name: "graph", About: "Shows the graph of a job. Over HTTP it may be the graph at an earlier event, with places, or a picture.", Roles: readers, Effect: Read, Input: GraphQuery{}, Output: Graph{}, On: scheduler,
			Method: http.MethodGet, Path: at + "/{id}/graph", Faults: missing, Media: []string{"application/json", "image/svg+xml"},
		},
		{Name: "inputs", About: "Lists the open requests for input.", Roles: readers, Effect: Read, Input: OpenInputs{}, Output: Questions{}, On: scheduler, Method: http.MethodGet, Path: "/api/v1/inputs", Also: []string{at + "/{id}/inputs"}, Faults: missing},
		{
			Name: "answer", About: "Answers or cancels a request for input; an approval needs an approver.", Roles: answerers, Effect: Write, Input: Answer{}, Output: Told{}, On: scheduler, By: []string{"by"},
			Method: http.MethodPost, Path: at + "/{id}/inputs/{request}", Faults: changeable,
		},
	}
}

func control() []Verb {
	one := func(name, about string, input any, cli string) Verb {
		return Verb{
			Name: name, About: about, Roles: operators, Effect: Write, Input: input, Output: Told{}, On: scheduler, By: []string{"by"}, CLI: cli,
			Method: http.MethodPost, Path: "/api/v1/jobs/{id}/" + name, Faults: changeable,
		}
	}
	stop := one("stop", "Stops a job, or one of its SubJobs. Submitters may stop their own jobs.", Ending{}, "jobgraph stop {at}")
	stop.Own = true
	return []Verb{
		stop,
		one("fail", "Declares a job, or one of its SubJobs, failed.", Ending{}, "jobgraph fail {at}"),
		one("recover", "Continues a STOPPED or FAILED job; finished work is kept.", Recovery{}, "jobgraph recover {id}"),
		one("retry", "Runs a FAILED or STOPPED SubJob again.", Retry{}, "jobgraph retry {at}"),
		one("rerun", "Runs a SubJob again, with edits, and everything that depends on it.", Rerun{}, "jobgraph rerun {at}"),
		one("edit", "Replaces the unfinished part of the graph.", PlanEdit{}, ""),
		{
			Name: "fork", About: "Starts a new job from the state of another, at any of its events.", Roles: submitters, Effect: Write, Input: Forking{}, Output: Forked{}, CLI: "jobgraph fork {id} --before {subjob}",
			Method: http.MethodPost, Path: "/api/v1/jobs/{id}/fork", Status: http.StatusCreated, Faults: changeable,
		},
	}
}

func inspection() []Verb {
	const at = "/api/v1/jobs/{id}"
	one := func(name, about, path string, input, output any) Verb {
		return Verb{Name: name, About: about, Roles: readers, Effect: Read, Input: input, Output: output, Method: http.MethodGet, Path: path, Faults: missing}
	}
	log := one("events", "Gives the events of a job in order; as a stream, also each new one.", at+"/events", EventQuery{}, EventPage{})
	log.Stream = "Event"
	live := one("live", "Gives what runs say while they work: tokens, tool calls, logs.", at+"/live", LiveQuery{}, LiveItems{})
	live.Stream = "LiveItem"
	file := one("artifact", "Gives a file of a job, or a range of it.", at+"/artifacts/{name...}", ArtifactRef{}, nil)
	file.Media, file.Faults = []string{"application/octet-stream"}, []events.Code{events.CodeNotFound, events.CodeMissingBlob}
	part := one("payload", "Gives a payload that is too large for an event or an answer.", at+"/payloads/{digest}", PayloadRef{}, nil)
	part.Media, part.Faults = file.Media, file.Faults
	export := one("export", "Gives everything of a job as one file, which jobgraph import and the console read.", at+"/export", Ref{}, nil)
	export.Media = []string{"application/x-ndjson"}
	return []Verb{
		log, live, part, export,
		one("timeline", "Gives the graph of a job at every event of its log.", at+"/timeline", TimelineQuery{}, Timeline{}),
		one("wait", "Waits until a job has ended or asks for input, and says where it stands.", at+"/wait", Waiting{}, Waited{}),
		one("diff", "Compares a job with another one: plan, results, calls, tokens and time.", at+"/diff", DiffQuery{}, Difference{}),
		one("plan", "Shows the plan of a job with the results of its steps.", at+"/plan", Ref{}, PlanOf{}),
		one("subjob", "Shows everything known about a SubJob: texts, inputs, runs, calls with their answers, log, result, what can be done.", at+"/subjobs/{subjob}", SubJobQuery{}, SubJobOf{}),
		one("actions", "Lists what can be done with a job or SubJob, in every form.", at+"/actions", SubJobRef{}, Actions{}),
		one("brief", "Shows what the last run of a SubJob knew about its job.", at+"/brief", BriefQuery{}, BriefOf{}),
		one("preview", "Shows the beginning of a file of a job in a form for people.", at+"/preview/{name...}", ArtifactRef{}, Preview{}),
		one("artifacts", "Lists the files that SubJobs have handed over.", at+"/artifacts", SubJobRef{}, ArtifactList{}),
		file,
	}
}

func sessions() []Verb {
	const at = "/api/v1/sessions"
	talk := Verb{
		Name: "sessions.conversation", About: "Gives what was said in a session.", Roles: readers, Effect: Read, Input: ConversationQuery{}, Output: Conversation{}, On: scheduler, By: []string{"user"},
		Method: http.MethodGet, Path: at + "/{id}/conversation", Faults: missing, Stream: "Entry",
	}
	return []Verb{
		{Name: "sessions.list", About: "Lists sessions, the most recently changed first.", Roles: readers, Effect: Read, Input: SessionQuery{}, Output: SessionList{}, On: scheduler, Method: http.MethodGet, Path: at},
		{Name: "sessions.show", About: "Shows a session with its latest jobs.", Roles: readers, Effect: Read, Input: SessionJobs{}, Output: SessionRecord{}, On: scheduler, By: []string{"user"}, Method: http.MethodGet, Path: at + "/{id}", Faults: missing},
		{Name: "sessions.rename", About: "Gives a session a title.", Roles: submitters, Effect: Write, Input: Renaming{}, Output: SessionRecord{}, On: scheduler, By: []string{"user"}, Method: http.MethodPatch, Path: at + "/{id}", Faults: missing},
		{Name: "sessions.stop", About: "Stops the running jobs of a session.", Roles: operators, Effect: Write, Input: SessionStop{}, Output: SessionStopped{}, On: scheduler, By: []string{"user", "by"}, Method: http.MethodPost, Path: at + "/{id}/stop", Faults: missing},
		{Name: "sessions.delete", About: "Removes a session, on request with its jobs.", Roles: operators, Effect: Destroy, Input: SessionDeletion{}, Output: SessionDeleted{}, On: scheduler, By: []string{"user"}, Method: http.MethodDelete, Path: at + "/{id}", Faults: changeable},
		talk,
	}
}

func schedules() []Verb {
	const at = "/api/v1/schedules"
	word := func(name, about string) Verb {
		return Verb{Name: "schedule." + name, About: about, Roles: operators, Effect: Write, Input: ScheduleWord{}, Output: ScheduleRecord{}, On: scheduler, By: []string{"by"}, Method: http.MethodPost, Path: at + "/{id}/" + name, Faults: changeable}
	}
	remove := word("delete", "Removes a schedule; its jobs stay.")
	remove.Method, remove.Path, remove.Effect = http.MethodDelete, at+"/{id}", Destroy
	return []Verb{
		{Name: "schedule.create", About: "Creates a schedule.", Roles: operators, Effect: Write, Input: ScheduleCreation{}, Output: ScheduleRecord{}, On: scheduler, By: []string{"by"}, Method: http.MethodPost, Path: at, Status: http.StatusCreated, Faults: []events.Code{events.CodeConflict}},
		{Name: "schedule.list", About: "Lists schedules.", Roles: readers, Effect: Read, Input: ScheduleQuery{}, Output: ScheduleList{}, On: scheduler, Method: http.MethodGet, Path: at},
		{Name: "schedule.get", About: "Shows a schedule with its latest runs.", Roles: readers, Effect: Read, Input: Ref{}, Output: ScheduleRecord{}, On: scheduler, Method: http.MethodGet, Path: at + "/{id}", Faults: missing},
		word("pause", "Stops new runs until the schedule is resumed."),
		word("resume", "Continues a paused schedule."),
		word("trigger", "Asks for an additional run now."),
		remove,
	}
}

func rest() []Verb {
	read := func(name, about, path string, input, output any) Verb {
		return Verb{Name: name, About: about, Roles: readers, Effect: Read, Input: input, Output: output, Method: http.MethodGet, Path: path}
	}
	user := read("users.get", "Shows the settings of a user.", "/api/v1/users/{user}", UserSettings{}, UserRecord{})
	user.On, user.By = scheduler, []string{"user"}
	set := user
	set.Name, set.About, set.Roles, set.Effect, set.Method = "users.set", "Changes the settings of a user.", submitters, Write, http.MethodPatch
	profiles := read("profiles", "Lists the profiles of the planner.", "/api/v1/profiles", nil, ProfileList{})
	profiles.On = planner
	letter := read("dlq.get", "Shows a dead letter.", "/api/v1/dlq/{id}", LetterRef{}, Letter{})
	letter.Faults = changeable
	return []Verb{
		user, set,
		read("experts", "Lists the announced experts.", "/api/v1/experts", nil, ExpertList{}),
		profiles,
		read("dlq", "Lists what no service could handle.", "/api/v1/dlq", nil, LetterList{}),
		letter,
		{Name: "dlq.retry", About: "Tries a dead letter again.", Roles: operators, Effect: Write, Input: LetterRetry{}, Output: Retried{}, On: scheduler, By: []string{"by"}, Method: http.MethodPost, Path: "/api/v1/dlq/{id}/retry", Faults: changeable},
		{Name: "render", About: "Makes inert HTML of Markdown, code, JSON or a difference.", Roles: readers, Effect: Read, Input: Rendering{}, Output: Rendered{}, Method: http.MethodPost, Path: "/api/v1/render"},
		{Name: "layout", About: "Draws a plan that is not run yet.", Roles: readers, Effect: Read, Input: Draft{}, Output: Drawn{}, Method: http.MethodPost, Path: "/api/v1/layout"},
		read("me", "Says who asks, and what they may do.", "/api/v1/me", nil, Me{}),
		read("health", "Says whether the system is ready, and which services answer.", "/api/v1/health", nil, HealthReport{}),
	}
}

// tools are the verbs that clients of the Model Context Protocol get as tools: enough to run a job from a conversation. Each
// further tool costs every conversation the tokens of its description.
var tools = []string{"submit", "get", "list", "wait", "inputs", "answer", "stop", "why", "fork", "diff"}

// plans returns the plan operations; they have no route.
func plans() []Verb {
	var list []Verb
	for _, c := range []struct {
		name, about string
		effect      Effect
	}{
		{"create", "Creates a plan document.", Write},
		{"update", "Changes a plan document.", Write},
		{"list", "Lists the plan documents of a book.", Read},
		{"get", "Shows a plan with its marks.", Read},
		{"set_active", "Chooses the active plan of a book.", Write},
		{"mark_step", "Marks a step.", Write},
		{"delete", "Removes a plan document.", Destroy},
		{"finish", "Ends a plan early.", Write},
	} {
		v := Verb{Name: "plan." + c.name, About: c.about, Roles: operators, Effect: c.effect, Input: PlanOperation{}, Output: PlanReply{}, On: planner, Faults: changeable}
		if c.effect == Read {
			v.Roles = readers
		} else {
			v.By = []string{"by"}
		}
		list = append(list, v)
	}
	return list
}

// models returns the routes that clients of OpenAI's API use.
func models() []Verb {
	return []Verb{
		{
			Name: "chat", About: "Answers the last message of a conversation, as OpenAI's API does.", Roles: submitters, Effect: Write, Input: ChatRequest{}, Output: ChatCompletion{},
			Method: http.MethodPost, Path: "/v1/chat/completions", API: OpenAI, Stream: "ChatCompletion",
			Faults: []events.Code{events.CodeNotFound, events.CodeConflict, events.CodeBudget, events.CodeExecution},
		},
		{
			Name: "responses", About: "Answers the last message of a conversation, as OpenAI's newer API does.", Roles: submitters, Effect: Write, Input: ResponseRequest{}, Output: Response{},
			Method: http.MethodPost, Path: "/v1/responses", API: OpenAI, Stream: "ResponseEvent",
			Faults: []events.Code{events.CodeNotFound, events.CodeConflict, events.CodeBudget, events.CodeExecution},
		},
		{Name: "models.list", About: "Lists profiles and experts as models of OpenAI's API.", Roles: readers, Effect: Read, Output: ModelList{}, Method: http.MethodGet, Path: "/v1/models", API: OpenAI},
		{Name: "models.get", About: "Shows a profile or an expert as a model of OpenAI's API.", Roles: readers, Effect: Read, Input: ModelRef{}, Output: ModelLine{}, Method: http.MethodGet, Path: "/v1/models/{model}", API: OpenAI, Faults: missing},
	}
}
