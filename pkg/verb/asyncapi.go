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
	d := &asyncDocument{channels: object{}, operations: object{}, messages: object{}, schemas: object{}}
	d.schemas["rejection"] = rejection(d.payload("fault"))
	fault := message("Fault", "Why a request was refused: a fault, or all of them.", object{"anyOf": []object{d.payload("fault"), d.payload("rejection")}})
	fault["headers"] = refused
	d.messages["fault"] = fault
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
	for _, m := range d.besides(names) {
		d.says(&m)
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

// The headers that NATS services set on a refusal, and only there: they tell it from an answer, whatever the body of either is.
const headerError, headerErrorCode = "Nats-Service-Error", "Nats-Service-Error-Code"

var (
	refused = object{
		"type": "object", "required": []string{headerError, headerErrorCode},
		"properties": object{
			headerError:     object{"type": "string", "description": "The fault as one line for people."},
			headerErrorCode: object{"type": "string", "description": "The code of the fault."},
		},
	}
	answered = object{"type": "object", "not": object{"required": []string{headerErrorCode}}}
)

// rejection is the schema of events.Rejection.
func rejection(fault object) object {
	return object{
		"type": "object", "title": "rejection", "required": []string{"faults"},
		"properties": object{"job_id": object{"type": "string", "description": "The id in the request, if there is one."}, "faults": object{"type": "array", "items": fault}},
	}
}

// once are the headers of a message that its stream stores once.
var once = object{"type": "object", "properties": object{events.HeaderMsgID: onceID}}

var onceID = object{"type": "string", "description": "The stream drops repeats with the same id."}

// cloudHeaders are the headers of a CloudEvent of a type in binary mode. With bare, a message may leave them out: its subject says
// what it is.
func cloudHeaders(ceType string, bare bool) object {
	text := object{"type": "string"}
	headers := object{
		"type": "object",
		"properties": object{
			events.HeaderSpec: object{"type": "string", "const": "1.0"}, events.HeaderID: text, events.HeaderSource: text,
			events.HeaderType: object{"type": "string", "const": ceType}, events.HeaderTrace: text, events.HeaderSkippable: text, events.HeaderMsgID: onceID,
		},
	}
	if !bare {
		headers["required"] = []string{events.HeaderSpec, events.HeaderID, events.HeaderSource, events.HeaderType}
	}
	return headers
}

// message is a message in JSON.
func message(title, about string, payload object) object {
	return object{"title": title, "summary": about, "contentType": "application/json", "payload": payload}
}

// payload refers to a schema of verbs, events or schedules, which it adds to the document; "" means any JSON.
func (d *asyncDocument) payload(schemaName string) object {
	if schemaName == "" {
		return object{}
	}
	if d.schemas[schemaName] == nil {
		text, ok := Schema(schemaName)
		if !ok {
			text, _ = schedule.Schema(schemaName)
		}
		d.schemas[schemaName] = openSchema(text)
	}
	return ref("components", "schemas", schemaName)
}

// verb describes a verb as a request with a reply. The subject of the reply is a field of the protocol and no header, so that no
// runtime expression can say where it is.
func (d *asyncDocument) verb(v *Verb, names events.Names) {
	id := "api." + v.Name
	d.messages[id+".request"] = message(v.Name, v.About, d.payload(v.InputSchema()))
	answer := message(v.Name+", answered", "The answer to "+v.Name+".", d.payload(v.OutputSchema()))
	answer["headers"] = answered
	d.messages[id+".reply"] = answer
	d.channel(id, names.API(v.Name), v.About)["messages"] = object{"request": ref("components", "messages", id+".request")}
	d.channels[id+".reply"] = object{
		"address": nil, "title": v.Name + ", answered", "description": "The reply subject of the request, which is an inbox of who sent it.",
		"messages": object{"reply": ref("components", "messages", id+".reply"), "fault": ref("components", "messages", "fault")},
		"servers":  []object{ref("servers", "bus")},
	}
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
			"channel":  ref("channels", id+".reply"),
			"messages": []object{ref("channels", id+".reply", "messages", "reply"), ref("channels", id+".reply", "messages", "fault")},
		},
		"bindings": object{"nats": bindings},
		"x-roles":  v.Needs(), "x-effect": string(v.Effect), "x-service": v.On, "x-faults": codes,
	}
}

func ref(path ...string) object { return object{"$ref": "#/" + strings.Join(path, "/")} }

var placeholder = regexp.MustCompile(`\{([a-z]+)\}`)

// about describes the parameters of subjects.
var about = map[string]string{
	"shard": "The shard of the job, a number that follows from its id.", "job": "The id of the job.", "subjob": "The id of the SubJob.", "run": "The number of the run.",
	"request": "The id of the request for input.", "timer": "The id of the timer.", "turn": "How many changes of status the job had.", "pool": "The pool of the expert.",
	"expert": "The id of the expert.", "session": "The id of the session, escaped if it is no token.", "schedule": "The id of the schedule.",
	"moment": "The moment of the run, or its number.", "kind": "request, work, webhook or fact.", "seq": "The sequence of the message in its queue.",
	"target": "The pool of the work, or the name of the webhook.",
}

// channel adds a channel with its parameters, unless there is one with that id, and returns it.
func (d *asyncDocument) channel(id, address, title string) object {
	if c, ok := d.channels[id].(object); ok {
		return c
	}
	c := object{"address": address, "title": title, "messages": object{}, "servers": []object{ref("servers", "bus")}}
	parameters := object{}
	for _, m := range placeholder.FindAllStringSubmatch(address, -1) {
		parameters[m[1]] = object{"description": about[m[1]]}
	}
	if len(parameters) > 0 {
		c["parameters"] = parameters
	}
	d.channels[id] = c
	return c
}
