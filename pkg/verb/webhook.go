package verb

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Notice is the body of a request to a webhook. Type is the kind of the event, Timestamp when the log got it.
type Notice struct {
	Type      events.Kind `json:"type"`
	Timestamp time.Time   `json:"timestamp"`
	Data      Noticed     `json:"data"`
}

// Noticed says what has happened. Seq is the event's sequence in the log; End is how the job has ended, Question what it asks. Cut
// is true if something, such as the result, is too long for a notice: the job has it.
type Noticed struct {
	Seq      uint64           `json:"seq"`
	Job      NoticedJob       `json:"job"`
	End      *events.JobEnded `json:"end,omitempty"`
	Question *Question        `json:"question,omitempty"`
	Cut      bool             `json:"cut,omitempty"`
}

// NoticedJob is a job as its request described it.
type NoticedJob struct {
	ID      string            `json:"id"`
	Goal    string            `json:"goal,omitempty"`
	Session string            `json:"session,omitempty"`
	User    string            `json:"user,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// Noticeable returns the events that webhooks receive.
func Noticeable() []events.Kind {
	return []events.Kind{events.KindJobFinished, events.KindJobFailed, events.KindJobStopped, events.KindInputRequested}
}

// webhooks describes the requests to webhooks.
func webhooks() object {
	list := object{}
	for _, kind := range Noticeable() {
		d, _ := events.Define(kind)
		parameters := []object{}
		for _, h := range [...][2]string{
			{"webhook-id", "The same in all attempts."},
			{"webhook-timestamp", "When this attempt was made, in seconds since 1970."},
			{"webhook-signature", "Signatures of Standard Webhooks, v1, one for each secret."},
		} {
			parameters = append(parameters, object{"name": h[0], "in": "header", "required": true, "schema": object{"type": "string"}, "description": h[1]})
		}
		list[string(kind)] = object{"post": object{
			"operationId": "webhook." + string(kind), "summary": d.Doc, "tags": []string{"webhooks"}, "parameters": parameters,
			"requestBody": object{"required": true, "content": object{"application/json": object{"schema": object{"$ref": "#/components/schemas/Notice"}}}},
			"responses":   object{"2XX": object{"description": "The notice is taken."}, "default": object{"description": "It is sent again later; 410 says never."}},
		}}
	}
	return list
}
