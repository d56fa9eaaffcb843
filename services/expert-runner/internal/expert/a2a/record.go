package a2a

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// record is the fold of the agent's updates in one exchange. The journal stores it.
type record struct {
	// Task and Context are the remote ids. Card is the digest of the card that led to them.
	Task    string `json:"task,omitempty"`
	Context string `json:"context,omitempty"`
	Card    string `json:"card,omitempty"`
	// State is the latest state.
	State state `json:"state,omitempty"`
	// Mark identifies the state. Answered is the mark of the request for input that this exchange answers: while the agent still
	// shows that request, it has not processed the answer.
	Mark     string `json:"mark,omitempty"`
	Answered string `json:"answered,omitempty"`
	// Said is the message of the latest state.
	Said []part `json:"said,omitempty"`
	// Spoken is text that arrived in pieces outside any artifact.
	Spoken    string     `json:"spoken,omitempty"`
	Artifacts []artifact `json:"artifacts,omitempty"`
	// Refused is set if the agent refused or sent nothing readable.
	Refused *refusal `json:"refused,omitempty"`
}

// kept is a record in the journal. A person who declares an unknown message done supplies the output itself, in another
// form.
type kept struct {
	A2A *record `json:"a2a"`
}

func (r *record) keep() (json.RawMessage, error) { return json.Marshal(kept{r}) }

// readRecord reads the journal's record; nil if it is an output that a person declared.
func readRecord(raw json.RawMessage) *record {
	var k kept
	if json.Unmarshal(raw, &k) != nil {
		return nil
	}
	return k.A2A
}

// rest reports whether no further update will come by itself.
func (r *record) rest() bool {
	return r.Refused != nil || r.State != "" && !r.State.under()
}

// open reports whether the agent has a task that it may continue.
func (r *record) open() bool { return r.Task != "" && !r.State.terminal() }

// stuck reports whether the exchange ends here although the agent still has the task.
func (r *record) stuck() bool {
	if r.Refused != nil {
		return r.Refused.Code != events.CodeNotFound
	}
	return r.rest() && !r.State.terminal() && r.State != stateInput
}

// take applies an update. It reports whether the update is about this task; nothing changes a task that has ended.
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

// grow adds an artifact, or appends to the one with its id. Consecutive texts are joined.
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

// Separators between texts: an artifact may come in any number of pieces, while the parts of a message are meant to be read
// separately.
const (
	inArtifact = ""
	inMessage  = "\n"
)

// textOf joins the text parts.
func textOf(parts []part, between string) string {
	var texts []string
	for i := range parts {
		if parts[i].isText() {
			texts = append(texts, parts[i].Text)
		}
	}
	return strings.Join(texts, between)
}

// Metadata of agents that describe in a status what they are doing.
const (
	eventChunk     = "message_chunk"
	eventReasoning = "reasoning"
	eventComponent = "component_generator"
)

func eventOf(u *update) string {
	name, _ := u.Meta["response_event"].(string)
	return name
}
