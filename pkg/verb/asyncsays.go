package verb

import (
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// asyncMessage is a message without a reply.
type asyncMessage struct {
	id, about        string
	payload, headers object
	// lines is true if the body is one JSON object per line; the payload describes a line.
	lines bool
	// actions are what Jobgraph does with it on each of its subjects: send, receive or both.
	actions  []string
	subjects []asyncSubject
}

// asyncSubject is a subject with the messages on it. Each subject is one channel: what is sent there is one of its messages.
type asyncSubject struct {
	address string
	// title describes the subject; "" means that the message says it all.
	title string
	// note says more about the subject.
	note string
	// channel is the id of the channel; "" means that of the message.
	channel string
	// variant is added to the ids of the channel and of its operations, if a message has several subjects.
	variant string
}

// says adds a message with its channels, and the operations on them.
func (d *asyncDocument) says(m *asyncMessage) {
	add := message(m.id, m.about, m.payload)
	if m.lines {
		add["contentType"] = "application/x-ndjson"
	}
	if m.headers != nil {
		add["headers"] = m.headers
	}
	d.messages[m.id] = add
	for _, s := range m.subjects {
		id, title := s.channel, s.title
		if id == "" {
			id = m.id
		}
		if title == "" {
			title = m.about
		}
		id += s.variant
		c := d.channel(id, s.address, title)
		if s.note != "" {
			c["description"] = s.note
		}
		messages, _ := c["messages"].(object)
		messages[m.id] = ref("components", "messages", m.id)
		for _, action := range m.actions {
			d.operations[action+"."+m.id+s.variant] = object{
				"action": action, "title": m.id, "summary": m.about, "channel": ref("channels", id), "messages": []object{ref("channels", id, "messages", m.id)},
			}
		}
	}
}

// event describes a fact of a job. Jobgraph also receives control events and the reports of workers.
func (d *asyncDocument) event(e *events.Definition, names events.Names) {
	m := asyncMessage{id: string(e.Kind), about: e.Doc, payload: d.payload(string(e.Kind)), actions: []string{"send"}}
	at, worked := asyncSubject{address: names.Template(e)}, false
	switch e.Kind {
	case events.KindSubJobStarted, events.KindSubJobProgressed, events.KindSubJobReported, events.KindInputRequested:
		worked = true
	case events.KindInputClosed:
		m.actions = append(m.actions, "receive")
	default:
		if e.Control {
			m.actions, at.channel, at.title = append(m.actions, "receive"), "control", "What is asked of a job."
		}
	}
	m.headers, m.subjects = cloudHeaders(e.Kind.Type(), worked), []asyncSubject{at}
	if worked {
		m.actions = append(m.actions, "receive")
		m.subjects = append(m.subjects, pooled(at.address))
	}
	d.says(&m)
}

// pooled is the subject of the same message from the workers of a bus with roles.
func pooled(address string) asyncSubject {
	return asyncSubject{address: address + ".{pool}", note: "On a bus with roles, where a worker may publish only for its pools.", variant: ".pool"}
}

// fact describes a fact of a schedule.
func (d *asyncDocument) fact(e *schedule.Definition, names events.Names) {
	at := asyncSubject{address: schedule.NewNames(names).Fact("{schedule}", e.Kind, "{moment}")}
	if e.Control {
		at.channel, at.title = "schedule.control", "What is asked of a schedule."
	}
	d.says(&asyncMessage{
		id: string(e.Kind), about: e.Doc, payload: d.payload(string(e.Kind)), headers: cloudHeaders(e.Kind.Type(), false), actions: []string{"send"}, subjects: []asyncSubject{at},
	})
}

// besides lists the messages that belong neither to a verb nor to a fact.
func (d *asyncDocument) besides(names events.Names) []asyncMessage {
	p, text := names.Prefix(), object{"type": "string"}
	send, receive := []string{"send"}, []string{"receive"}
	cancelled := object{"type": "object", "properties": object{"run": object{"type": "integer", "description": "The last run that is to end; all without it."}, "reason": text}}
	taken := object{"type": "object", "required": []string{"message", "job_id", "request"}, "properties": object{"message": text, "job_id": text, "request": text}}
	member := object{"type": "object", "required": []string{"subject", "id", "work"}, "properties": object{"subject": text, "id": text, "trace": text, "work": d.payload("work")}}
	work := []asyncSubject{{address: p + ".work.{pool}.{expert}.{job}.{subjob}.{run}", channel: "work"}}
	one := (&batch.Member{}).Message()
	issued, unlabelled := one.Get(events.HeaderType), object{"type": "object", "not": object{"required": []string{events.HeaderType}}}
	journal, live, items := names.JournalOf("{job}", "{subjob}"), names.Live("{job}", "{subjob}"), item.LiveSubjects(names).SubJob("{job}", "{subjob}")
	at := func(address string) []asyncSubject { return []asyncSubject{{address: address}} }
	return []asyncMessage{
		{id: "request", about: "A request for a job, which waits in a queue. With a reply subject it is answered when it is admitted.", payload: d.payload("request"), headers: once, actions: receive, subjects: at(names.Request())},
		{id: "rejected", about: "A request from the queue was refused, and had no reply subject.", payload: d.payload("rejection"), actions: send, subjects: at(names.Rejected())},
		{id: "answered", about: "A request from the queue answered a question of a job, and made none.", payload: taken, actions: send, subjects: at(item.Answered(names))},
		{id: "work", about: "Work for a runner, or for a worker in any language.", payload: d.payload("work"), headers: cloudHeaders(issued, false), actions: send, subjects: work},
		{id: "batch", about: "Work of many SubJobs for a runner whose pool takes it so, one JSON object per line.", payload: member, lines: true, headers: unlabelled, actions: send, subjects: work},
		{id: "journal", about: "A record of a run: a claim, an effect, a report.", payload: d.payload("journal"), actions: receive, subjects: []asyncSubject{{address: journal}, pooled(journal)}},
		{id: "cancel", about: "Runs are to end at once.", payload: cancelled, actions: send, subjects: []asyncSubject{
			{address: names.Cancel("{job}", "{subjob}"), title: "The runs of a SubJob are to end at once."},
			{address: names.Cancel("{job}", ""), title: "All runs of a job are to end at once.", variant: ".job"},
		}},
		{id: "live", about: "What a model writes, in pieces as it comes. Nothing is stored.", payload: object{}, actions: slices.Concat(send, receive), subjects: []asyncSubject{{address: live}, pooled(live)}},
		{id: "item", about: "Live items of a run, one JSON object per line.", payload: d.payload("LiveItem"), lines: true, actions: slices.Concat(send, receive), subjects: []asyncSubject{{address: items}, pooled(items)}},
		{id: "conversation", about: "An item of what was said in a session.", payload: d.payload("LiveItem"), headers: once, actions: send, subjects: at(item.Subject(names, "{session}"))},
		{id: "dead-letter", about: "What no service could handle, with the reason in its headers.", payload: object{}, actions: send, subjects: []asyncSubject{
			{address: p + ".dlq.{kind}.{seq}"}, {address: p + ".dlq.{kind}.{seq}.{target}", title: "Work, or a notice of a webhook, that no service could handle.", variant: ".target"},
		}},
	}
}
