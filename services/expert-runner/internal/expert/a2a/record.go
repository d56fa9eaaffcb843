package a2a

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// record is what is known of an exchange: the fold of what the agent has told. The journal keeps it.
type record struct {
	// Task and Context are the remote ones. Card is the digest of the card that led to them.
	Task    string `json:"task,omitempty"`
	Context string `json:"context,omitempty"`
	Card    string `json:"card,omitempty"`
	// State is the latest.
	State state `json:"state,omitempty"`
	// Mark is that of the state, Answered that of the request for input which the message of this exchange answers: as long as the
	// agent shows that request, it has not come to the answer.
	Mark     string `json:"mark,omitempty"`
	Answered string `json:"answered,omitempty"`
	// Said is the message of the latest state.
	Said []part `json:"said,omitempty"`
	// Spoken is text that came in pieces beside any artifact.
	Spoken    string     `json:"spoken,omitempty"`
	Artifacts []artifact `json:"artifacts,omitempty"`
	// Refused is set when the agent said no, or nothing that can be read.
	Refused *refusal `json:"refused,omitempty"`
}

// kept is a record as the journal has it. A person who declares an unknown message done gives the output itself, which has
// another form.
type kept struct {
	A2A *record `json:"a2a"`
}

func (r *record) keep() (json.RawMessage, error) { return json.Marshal(kept{r}) }

// readRecord reads what the journal has; nil when it is the output that a person declared.
func readRecord(raw json.RawMessage) *record {
	var k kept
	if json.Unmarshal(raw, &k) != nil {
		return nil
	}
	return k.A2A
}

// rest reports whether nothing more comes by itself.
func (r *record) rest() bool {
	return r.Refused != nil || r.State != "" && !r.State.under()
}

// open reports whether the agent holds a task that it might go on with.
func (r *record) open() bool { return r.Task != "" && !r.State.terminal() }

// stuck reports whether the exchange ends here although the agent holds the task.
func (r *record) stuck() bool {
	if r.Refused != nil {
		return r.Refused.Code != events.CodeNotFound
	}
	return r.rest() && !r.State.terminal() && r.State != stateInput
}

// take applies what was told. It reports whether that was about this task at all; nothing changes a task that has ended.
func (r *record) take(u *update) bool {
	if u.Task != "" && r.Task != "" && u.Task != r.Task {
		return false
	}
	if r.State.terminal() {
		return true
	}
	if u.Task != "" {
		r.Task = u.Task
	}
	if u.Context != "" {
		r.Context = u.Context
	}
	if u.Whole && len(u.Artifacts) > 0 {
		r.Artifacts = u.Artifacts
	} else {
		for _, a := range u.Artifacts {
			r.grow(a, u.Append)
		}
	}
	if u.State == "" {
		return true
	}
	if u.State == stateInput && u.Mark != "" && u.Mark == r.Answered {
		r.State = stateWorking
		return true
	}
	r.State, r.Mark = u.State, u.Mark
	if eventOf(u) == eventChunk {
		r.Spoken += textOf(u.Said, inMessage)
	} else if len(u.Said) > 0 || r.State.terminal() {
		r.Said = u.Said
	}
	return true
}

// grow adds an artifact, or to the one with its id. Text that follows text is one text.
func (r *record) grow(a artifact, more bool) {
	i := slices.IndexFunc(r.Artifacts, func(known artifact) bool { return known.ID == a.ID })
	switch {
	case i < 0:
		r.Artifacts = append(r.Artifacts, a)
		return
	case !more:
		r.Artifacts[i] = a
		return
	}
	known := &r.Artifacts[i]
	for _, p := range a.Parts {
		if last := len(known.Parts) - 1; last >= 0 && p.isText() && known.Parts[last].isText() {
			known.Parts[last].Text += p.Text
			continue
		}
		known.Parts = append(known.Parts, p)
	}
}

func (p *part) isText() bool { return p.Data == nil && p.Bytes == nil && p.URL == "" }

// Between texts: an artifact may come in any number of pieces, while the parts of a message are made to be read one by one.
const (
	inArtifact = ""
	inMessage  = "\n"
)

// textOf joins what is text.
func textOf(parts []part, between string) string {
	var texts []string
	for i := range parts {
		if parts[i].isText() {
			texts = append(texts, parts[i].Text)
		}
	}
	return strings.Join(texts, between)
}

// Events of agents that say in the metadata of a status what they are doing.
const (
	eventChunk     = "message_chunk"
	eventReasoning = "reasoning"
)

func eventOf(u *update) string {
	name, _ := u.Meta["response_event"].(string)
	return name
}
