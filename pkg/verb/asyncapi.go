package verb

import (
	"regexp"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// AsyncAPI describes what programs and Jobgraph exchange on the bus, in the form of AsyncAPI 3.0: the verbs as requests with
// replies, the facts of jobs and schedules, and the messages for workers. It is made from the tables of verbs and of events. The
// described application is Jobgraph: it receives what others send.
func AsyncAPI(version string, names events.Names) map[string]any {
	d := &asyncDocument{channels: object{}, operations: object{}, messages: object{}, schemas: object{"fault": schemaNamed("fault")}}
	d.messages["fault"] = message("Fault", "Why a request was refused. The header Nats-Service-Error-Code has its code.", "fault")
	for _, v := range All() {
		if v.On != "" {
			d.verb(&v, names)
		}
	}
	for _, definition := range events.Definitions() {
		d.event(&definition, names)
	}
	for _, definition := range schedule.Definitions() {
		d.fact(&definition, names)
	}
	for _, m := range besides(names) {
		d.beside(&m)
	}
	return object{
		"asyncapi":           "3.0.0",
		"info":               object{"title": "Jobgraph", "version": version, "description": "What programs and Jobgraph say to each other on NATS."},
		"defaultContentType": "application/json",
		"servers":            object{"bus": object{"host": "127.0.0.1:4222", "protocol": "nats", "description": "NATS with JetStream; NATS_URL says where."}},
		"channels":           d.channels,
		"operations":         d.operations,
		"components":         object{"messages": d.messages, "schemas": d.schemas},
	}
}

// asyncDocument collects the parts of a document.
type asyncDocument struct{ channels, operations, messages, schemas object }

// facts are the headers of events: CloudEvents 1.0 in binary mode.
var facts = object{
	"type": "object", "required": []string{events.HeaderSpec, events.HeaderID, events.HeaderSource, events.HeaderType},
	"properties": object{
		events.HeaderSpec: object{"type": "string", "const": "1.0"}, events.HeaderID: object{"type": "string"}, events.HeaderSource: object{"type": "string"},
		events.HeaderType: object{"type": "string"}, events.HeaderTrace: object{"type": "string"}, events.HeaderSkippable: object{"type": "string"},
		events.HeaderMsgID: object{"type": "string", "description": "The stream drops repeats with the same id."},
	},
}

// message is a message whose payload has a schema; "" for any JSON.
func message(title, about, schema string) object {
	m := object{"title": title, "summary": about, "contentType": "application/json", "payload": object{}}
	if schema != "" {
		m["payload"] = object{"$ref": "#/components/schemas/" + schema}
	}
	return m
}

// verb describes a verb as a request with a reply.
func (d *asyncDocument) verb(v *Verb, names events.Names) {
	id := "api." + v.Name
	replies := object{"fault": object{"$ref": "#/components/messages/fault"}}
	d.add(id+".request", message(v.Name, v.About, v.InputSchema()), v.InputSchema(), nil)
	d.add(id+".reply", message(v.Name+", answered", "The answer to "+v.Name+".", v.OutputSchema()), v.OutputSchema(), nil)
	replies["reply"] = object{"$ref": "#/components/messages/" + id + ".reply"}
	d.channel(id, names.API(v.Name), v.About, object{"request": object{"$ref": "#/components/messages/" + id + ".request"}})
	d.channels[id+".reply"] = object{"address": nil, "title": v.Name + ", answered", "messages": replies, "description": "The subject that the request names for its reply."}
	bindings := object{"bindingVersion": "0.1.0"}
	if !v.Each {
		bindings["queue"] = "q"
	}
	codes := make([]string, 0, len(v.Faults))
	for _, c := range v.Faults {
		codes = append(codes, string(c))
	}
	d.operations[id] = object{
		"action": "receive", "title": v.Name, "summary": v.About, "channel": ref("channels", id), "messages": []object{ref("channels", id, "messages", "request")},
		"reply": object{
			"address": object{"location": "$message.header#/reply"}, "channel": ref("channels", id+".reply"),
			"messages": []object{ref("channels", id+".reply", "messages", "reply"), ref("channels", id+".reply", "messages", "fault")},
		},
		"bindings": object{"nats": bindings},
		"x-roles":  v.Needs(), "x-effect": string(v.Effect), "x-service": v.On, "x-faults": codes,
	}
}

func ref(path ...string) object { return object{"$ref": "#/" + strings.Join(path, "/")} }

// add adds a message and the schema of its payload.
func (d *asyncDocument) add(name string, m object, schema string, headers object) {
	if headers != nil {
		m["headers"] = headers
	}
	d.messages[name] = m
	if schema != "" && d.schemas[schema] == nil {
		d.schemas[schema] = schemaNamed(schema)
	}
}

// schemaNamed is a schema of verbs, events or schedules.
func schemaNamed(name string) object {
	text, ok := Schema(name)
	if !ok {
		text, _ = schedule.Schema(name)
	}
	return openSchema(text)
}

var placeholder = regexp.MustCompile(`\{([a-z]+)\}`)

// about describes the parameters of subjects.
var about = map[string]string{
	"shard": "The shard of the job, a number that follows from its id.", "job": "The id of the job.", "subjob": "The id of the SubJob.", "run": "The number of the run.",
	"request": "The id of the request for input.", "timer": "The id of the timer.", "turn": "How many changes of status the job had.", "pool": "The pool of the expert.",
	"expert": "The id of the expert.", "session": "The id of the session.", "schedule": "The id of the schedule.", "moment": "The moment of the run, or its number.",
	"kind": "request or work.", "seq": "The sequence of the message in its queue.",
}

// channel adds a channel with its parameters.
func (d *asyncDocument) channel(id, address, title string, messages object) {
	c := object{"address": address, "title": title, "messages": messages, "servers": []object{ref("servers", "bus")}}
	parameters := object{}
	for _, m := range placeholder.FindAllStringSubmatch(address, -1) {
		parameters[m[1]] = object{"description": about[m[1]]}
	}
	if len(parameters) > 0 {
		c["parameters"] = parameters
	}
	d.channels[id] = c
}

// says adds a message with a separate channel, and the operations on it.
func (d *asyncDocument) says(id, address, title, schema string, headers object, actions ...string) {
	d.add(id, message(id, title, schema), schema, headers)
	d.channel(id, address, title, object{"message": ref("components", "messages", id)})
	for _, action := range actions {
		d.operations[action+"."+id] = object{
			"action": action, "title": id, "summary": title, "channel": ref("channels", id), "messages": []object{ref("channels", id, "messages", "message")},
		}
	}
}

// event describes a fact of a job. Jobgraph also receives control events and the reports of workers.
func (d *asyncDocument) event(e *events.Definition, names events.Names) {
	actions := []string{"send"}
	switch e.Kind {
	case events.KindSubJobStarted, events.KindSubJobProgressed, events.KindSubJobReported, events.KindInputRequested, events.KindInputClosed:
		actions = append(actions, "receive")
	default:
		if e.Control {
			actions = append(actions, "receive")
		}
	}
	d.says(string(e.Kind), names.Template(e), e.Doc, string(e.Kind), facts, actions...)
}

// fact describes a fact of a schedule.
func (d *asyncDocument) fact(e *schedule.Definition, names events.Names) {
	d.says(string(e.Kind), schedule.NewNames(names).Fact("{schedule}", e.Kind, "{moment}"), e.Doc, string(e.Kind), facts, "send")
}

// beside adds a message that is neither a verb nor a fact.
func (d *asyncDocument) beside(m *asyncMessage) {
	d.says(m.id, m.address, m.about, m.schema, m.headers, m.actions...)
}

// asyncMessage is a message that is neither a verb nor a fact.
type asyncMessage struct {
	id, address, about, schema string
	headers                    object
	actions                    []string
}

// besides lists the other messages.
func besides(names events.Names) []asyncMessage {
	p := names.Prefix()
	send, receive := []string{"send"}, []string{"receive"}
	once := object{"type": "object", "properties": object{events.HeaderMsgID: object{"type": "string", "description": "The stream drops repeats with the same id."}}}
	return []asyncMessage{
		{"request", names.Request(), "A request for a job, which waits in a queue. With a reply subject it is answered when it is admitted.", "request", once, receive},
		{"work", p + ".work.{pool}.{expert}.{job}.{subjob}.{run}", "Work for a runner, or for a worker in any language.", "work", nil, send},
		{"journal", names.JournalOf("{job}", "{subjob}"), "A record of a run: a claim, an effect, a report.", "journal", nil, receive},
		{"cancel", names.Cancel("{job}", "{subjob}"), "A run is to end at once. It has no payload.", "", nil, send},
		{"item", p + ".item.{job}.{subjob}", "Live items of a run, one JSON object per line.", "", nil, send},
		{"conversation", p + ".conversation.{session}", "An item of what was said in a session.", "", nil, send},
		{"dead-letter", p + ".dlq.{kind}.{seq}", "What no service could handle, with the reason in its headers.", "", nil, send},
	}
}
