package access

import (
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Row says who may use a subject.
type Row struct {
	// Subject may contain wildcards, and {pool}, which stands for each pool of a runner.
	Subject string
	// About describes the purpose of the subject.
	About string
	// Publish and Subscribe list the roles that may do so. Everyone may also subscribe to their own inbox, and the
	// admin may do everything.
	Publish, Subscribe []Role
	// Many is true if a request gets several reply messages.
	Many bool
	// Verb is the verb that is requested on the subject, if any: then the rights of a client count as well.
	Verb string
	// Asked is true if identities outside the engine that may subscribe to the subject answer requests on it; otherwise
	// they only listen.
	Asked bool
}

// Local reports whether a subject is used only within the account of a runner.
func (r *Row) Local() bool {
	return slices.Equal(r.Publish, r.Subscribe) && slices.Equal(r.Publish, runners)
}

var (
	engine    = []Role{Scheduler, Planner, Gateway}
	readers   = []Role{Scheduler, Planner, Gateway, Runner, Client, Viewer}
	watchers  = []Role{Gateway, Client, Viewer}
	askers    = []Role{Scheduler, Planner, Gateway, Client, Viewer}
	runners   = []Role{Runner}
	workers   = []Role{Planner, Runner}
	scheduler = []Role{Scheduler}
	planner   = []Role{Planner}
)

// worked are the facts that a runner publishes about the runs of its pools.
var worked = []events.Kind{events.KindInputRequested, events.KindSubJobStarted, events.KindSubJobProgressed, events.KindSubJobReported}

// Table returns every row for the subjects under a prefix.
func Table(n events.Names) []Row {
	return slices.Concat(facts(n), traffic(n), verbs(n), kept(n), streams(n))
}

// facts returns the subjects of the log.
func facts(n events.Names) []Row {
	who := map[events.Kind][]Role{
		events.KindGraphCreated: planner, events.KindPlanRejected: planner, events.KindJobAnswered: planner,
		events.KindInputRequested: planner, events.KindSubJobStarted: planner, events.KindSubJobProgressed: planner, events.KindSubJobReported: {Scheduler, Planner},
	}
	rows := []Row{
		{Subject: n.AllEvents(), About: "reading along", Subscribe: watchers},
		{Subject: n.Prefix() + ".event.*.*.control", About: "what people ask of a job", Publish: []Role{Scheduler, Planner}},
	}
	for _, d := range events.Definitions() {
		if d.Control {
			continue
		}
		by := who[d.Kind]
		if by == nil {
			by = scheduler
		}
		at := n.Prefix() + ".event.*.*." + string(d.Kind)
		switch {
		case d.Run:
			rows = append(rows, Row{Subject: at + ".*.*", About: d.Doc, Publish: by})
			if slices.Contains(worked, d.Kind) {
				rows = append(rows, Row{Subject: at + ".*.*.{pool}", About: d.Doc, Publish: []Role{Runner}})
			}
		default:
			rows = append(rows, Row{Subject: at, About: d.Doc, Publish: by}, Row{Subject: at + ".>", About: d.Doc, Publish: by})
		}
	}
	return rows
}

// traffic returns the other subjects of streams, and those of core NATS.
func traffic(n events.Names) []Row {
	conversations, s := item.Subject(n, "*"), schedule.NewNames(n)
	return []Row{
		{Subject: n.Request(), About: "requests that wait for admission", Publish: []Role{Scheduler, Gateway}},
		{Subject: n.Request(), About: "requests that wait for admission", Publish: []Role{Client}, Verb: "submit"},
		{Subject: n.Rejected(), About: "rejections of such requests", Publish: scheduler, Subscribe: watchers},
		{Subject: item.Answered(n), About: "which requests were answers", Publish: scheduler, Subscribe: watchers},
		{Subject: n.AllWork(), About: "work", Publish: []Role{Scheduler, Planner}},
		{Subject: n.AllJournals(), About: "journals of runs", Publish: []Role{Scheduler, Planner}},
		{Subject: n.JournalIn("*", "*", "{pool}"), About: "records of the runs of its pools", Publish: []Role{Runner}},
		{Subject: n.AllTimers(), About: "timers", Publish: scheduler},
		{Subject: s.All(), About: "facts of schedules", Publish: scheduler},
		{Subject: conversations, About: "what was said in sessions", Publish: scheduler},
		{Subject: item.LiveSubjects(n).All(), About: "live items, and what foreign workers say of their progress", Publish: []Role{Scheduler, Planner}},
		{Subject: item.LiveSubjects(n).In("*", "*", "{pool}"), About: "live items of the runs of its pools", Publish: runners},
		{Subject: n.Live("*", "*"), About: "live items for those who are there", Publish: planner, Subscribe: watchers},
		{Subject: item.LiveSubjects(n).Passing("*", "*", "{pool}"), About: "the same, of the runs of its pools", Publish: runners, Subscribe: watchers},
		{Subject: n.AllAside(), About: "dead letters", Publish: []Role{Scheduler, Planner}},
		{Subject: n.Prefix() + ".dlq.webhook.>", About: "notices that no webhook took", Publish: []Role{Gateway}},
		{Subject: n.Prefix() + ".cancel.>", About: "ends of runs", Publish: []Role{Scheduler, Planner}, Subscribe: workers},
		{Subject: "tools.>", About: "tools that programs offer beside a runner; in its account only", Publish: runners, Subscribe: runners},
		{Subject: "$SRV.>", About: "the protocol of micro services, of a runner and such programs; in its account only", Publish: runners, Subscribe: runners},
		{Subject: "$SRV.INFO.>", About: "which services are there", Publish: askers, Subscribe: engine, Many: true},
		{Subject: "$SRV.INFO.jobgraph-runner", About: "which runners are there", Subscribe: runners, Many: true, Asked: true},
		{Subject: "$SRV.>", About: "the protocol of micro services", Subscribe: engine},
	}
}

// verbs returns the subjects of requests.
func verbs(n events.Names) []Row {
	var rows []Row
	for _, v := range verb.All() {
		if v.On == "" {
			continue
		}
		row := Row{Subject: n.API(v.Name), About: v.About, Verb: v.Name, Publish: []Role{Gateway, Client, Viewer}, Subscribe: []Role{Role(v.On)}, Many: v.Each, Asked: true}
		rows = append(rows, row)
	}
	return rows
}

// kept returns the subjects of buckets and objects.
func kept(n events.Names) []Row {
	blobs := "$O." + n.Blobs
	return []Row{
		{Subject: "$KV." + n.State + ".>", About: "saved states", Publish: scheduler},
		{Subject: "$KV." + n.Sessions + ".>", About: "sessions, budgets, slots", Publish: scheduler},
		{Subject: "$KV." + n.Plans + ".>", About: "plan documents", Publish: planner},
		{Subject: "$KV." + n.Experts + ".>", About: "cards", Publish: scheduler},
		{Subject: "$KV." + n.Memory + ".>", About: "what experts remember", Publish: scheduler},
		{Subject: n.Card("{pool}", "*"), About: "cards of a pool's experts, what they remember and know sessions by, its consumer, and work that its runner puts back or sets aside", Publish: []Role{Runner}, Subscribe: scheduler},
		{Subject: n.Keep(n.Memory, "fact.*.*"), About: "what experts remember, from runners of the release before: only its accounts let them publish there", Subscribe: scheduler},
		{Subject: n.Keep(n.Sessions, "contexts.*"), About: "by which ids remote agents know a session, from such runners: the same", Subscribe: scheduler},
		{Subject: n.Keep(n.Sessions, "chats.*"), About: "to which sessions conversations of OpenAI clients belong", Publish: []Role{Gateway}, Subscribe: scheduler},
		{Subject: blobs + ".C.>", About: "chunks of payloads", Publish: []Role{Scheduler, Planner, Gateway, Runner, Client}},
		{Subject: blobs + ".M.*", About: "payloads", Publish: []Role{Scheduler, Planner, Gateway, Runner, Client}},
	}
}

// api is the first part of the subjects of the server's own requests.
const api = "$JS.API."

// Streams lists the streams under a prefix, buckets and object stores included.
func Streams(n events.Names) []string {
	return []string{
		n.Log, n.Intake, n.Work, n.Journal, n.Timers, n.Aside, schedule.NewNames(n).Stream(), item.Stream(n), item.LiveSubjects(n).Stream(),
		"KV_" + n.State, "KV_" + n.Experts, "KV_" + n.Sessions, "KV_" + n.Plans, "KV_" + n.Memory, "OBJ_" + n.Blobs,
	}
}

// streams returns the requests to the server about streams.
func streams(n events.Names) []Row {
	rows := []Row{{Subject: api + "INFO", About: "the account", Publish: readers}}
	for _, s := range Streams(n) {
		rows = append(rows, Row{Subject: api + "STREAM.INFO." + s, About: "the state of a stream", Publish: readers})
		who := readers
		switch s {
		case n.Work, n.Timers:
			who = engine
		case n.Intake:
			who = []Role{Scheduler, Gateway, Client, Viewer}
		}
		rows = append(rows,
			Row{Subject: api + "STREAM.MSG.GET." + s, About: "a message of a stream", Publish: who},
			Row{Subject: api + "DIRECT.GET." + s, About: "messages of a stream", Publish: who, Many: true},
			Row{Subject: api + "CONSUMER.CREATE." + s + ".>", About: "a consumer: a right to write, since the server delivers to any subject", Publish: engine},
			Row{Subject: api + "CONSUMER.DELETE." + s + ".*", About: "the end of a consumer", Publish: engine},
			Row{Subject: api + "CONSUMER.MSG.NEXT." + s + ".*", About: "the next messages of a consumer", Publish: engine, Many: true},
			Row{Subject: api + "CONSUMER.INFO." + s + ".*", About: "the state of a consumer", Publish: readers},
			Row{Subject: api + "CONSUMER.LIST." + s, About: "the consumers of a stream", Publish: readers},
			Row{Subject: "$JS.ACK." + s + ".>", About: "settling a delivery", Publish: engine},
			Row{Subject: "$JS.ACK.*.*." + s + ".>", About: "settling a delivery", Publish: engine},
		)
	}
	for _, s := range []string{n.Log, n.Work, n.Journal, n.Timers, schedule.NewNames(n).Stream(), item.Stream(n), item.LiveSubjects(n).Stream(), "KV_" + n.State, "KV_" + n.Plans, "OBJ_" + n.Blobs} {
		row := Row{Subject: api + "STREAM.PURGE." + s, About: "removal", Publish: scheduler}
		if s == n.Work || s == "OBJ_"+n.Blobs {
			row.Publish = []Role{Scheduler, Planner}
		}
		rows = append(rows, row)
	}
	rows = append(rows, Row{Subject: api + "STREAM.PURGE." + n.Aside, About: "the end of a dead letter that was tried again", Publish: scheduler})
	for _, pool := range []string{"{pool}", batch.Pool("{pool}")} {
		rows = append(rows,
			Row{Subject: api + "CONSUMER.MSG.NEXT." + n.Work + ".pool-" + pool, About: "work of a pool", Publish: []Role{Runner}, Many: true},
			Row{Subject: "$JS.ACK." + n.Work + ".pool-" + pool + ".>", About: "settling work of a pool", Publish: []Role{Runner}},
			Row{Subject: "$JS.ACK.*.*." + n.Work + ".pool-" + pool + ".>", About: "settling work of a pool", Publish: []Role{Runner}},
		)
	}
	return rows
}
