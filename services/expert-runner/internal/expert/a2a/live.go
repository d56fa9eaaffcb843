package a2a

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// maxMilestones limits the state changes of a task that are published as progress.
const maxMilestones = 50

// live reports the agent's activity to watchers. Only milestones are stored.
type live struct {
	task *expert.Task
	// texts holds the lengths of growing items.
	texts map[string]int
	// redactor makes the streams, one for each item, which remove secrets that are split over several pieces.
	redactor *redact.Redactor
	streams  map[string]*redact.Stream
	// component is the component to show when the message that is being passed on is complete; nil if the message is text.
	component *item.Item
	said      int
	turns     int
}

// piece is one message to watchers, in the form that all experts use: it continues an item at an offset in bytes, or
// reports the start or end of a tool call.
type piece struct {
	Item   string `json:"item"`
	Offset int    `json:"offset"`
	Text   string `json:"text,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Args   string `json:"args,omitempty"`
	Done   bool   `json:"done,omitempty"`
	Bytes  int    `json:"bytes,omitempty"`
}

// tell shows an update of the agent to watchers.
func (l *live) tell(u *update) {
	if l.tool(u.Meta) {
		return
	}
	for i := range u.Artifacts {
		a := &u.Artifacts[i]
		l.text("artifact/"+clip(a.ID, maxName), textOf(a.Parts, inArtifact), u.Append)
	}
	said := textOf(u.Said, inMessage)
	switch {
	case said == "":
	case eventOf(u) == eventChunk:
		l.text("answer", said, true)
	case eventOf(u) == eventReasoning:
		l.text("thought", said, true)
	default:
		l.said++
		id := fmt.Sprintf("said/%d", l.said)
		l.component = componentOf(u, id, said)
		l.text(id, said, false)
		l.rest(id)
		l.finish(id)
	}
}

// componentOf returns the component that a message is, for agents that say so; nil for text. An agent that repeats the id of
// a component replaces it.
func componentOf(u *update, id, content string) *item.Item {
	kind, _ := u.Meta["component_type"].(string)
	if kind == "" && eventOf(u) != eventComponent {
		return nil
	}
	i := &item.Item{Type: item.Component, ID: id, Component: clip(cmp.Or(kind, "component"), maxName), Done: true}
	if named, _ := u.Meta["component_id"].(string); named != "" {
		i.ID = "component/" + clip(named, maxName)
	}
	if json.Valid([]byte(content)) {
		i.Data = json.RawMessage(content)
	} else {
		i.Text = clip(content, maxShown)
	}
	return i
}

// finish shows the current component, or ends an item of text.
func (l *live) finish(id string) {
	if l.component != nil {
		l.task.Show(*l.component)
		l.component = nil
		return
	}
	l.task.Show(item.Item{Type: typeOf(id), ID: id, Done: true})
}

// typeOf returns the type of an item of text.
func typeOf(id string) item.Type {
	if id == "thought" {
		return item.Thinking
	}
	return item.Text
}

// tool reads the metadata that agents add to a status while they call a tool.
func (l *live) tool(meta map[string]any) bool {
	name, _ := meta["tool_name"].(string)
	if name == "" {
		return false
	}
	id, _ := meta["tool_call_id"].(string)
	p := piece{Item: "tool/" + clip(id, maxName), Tool: clip(name, maxName)}
	result, over := meta["tool_result"]
	if meta["response_event"] == "tool_call_completed" || over {
		raw, err := json.Marshal(result)
		if err != nil {
			raw = nil // Cannot happen: the value was decoded from JSON.
		}
		p = piece{Item: p.Item, Done: true, Bytes: len(raw)}
	} else if args, err := json.Marshal(meta["tool_args"]); err == nil && meta["tool_args"] != nil {
		p.Args = clip(string(args), 1<<10)
	}
	l.send(p)
	l.task.Show(item.Item{Type: item.Tool, ID: p.Item, Tool: p.Tool, Args: p.Args, Bytes: p.Bytes, Done: p.Done})
	return true
}

// text continues an item, or restarts it.
func (l *live) text(id, text string, more bool) {
	if text == "" {
		return
	}
	if l.texts == nil {
		l.texts, l.streams = map[string]int{}, map[string]*redact.Stream{}
	}
	if !more {
		l.texts[id] = 0
	}
	if !more || l.streams[id] == nil {
		l.streams[id] = l.redactor.Stream(false)
	}
	l.pass(id, l.streams[id].Feed(text))
}

// pass publishes text that is certainly not part of a secret.
func (l *live) pass(id, text string) {
	if text == "" {
		return
	}
	shown := clip(text, maxShown)
	l.send(piece{Item: id, Offset: l.texts[id], Text: shown})
	if l.component == nil {
		l.task.Show(item.Item{Type: typeOf(id), ID: id, Offset: l.texts[id], Text: shown})
	}
	l.texts[id] += len(text)
}

// rest publishes the held-back end of an item that does not continue.
func (l *live) rest(id string) {
	if s := l.streams[id]; s != nil {
		l.pass(id, s.Flush())
	}
}

// turn publishes a milestone: the task is in another state.
func (l *live) turn(r *record) {
	if r.State.terminal() {
		for _, id := range slices.Sorted(maps.Keys(l.streams)) {
			l.rest(id)
			if !strings.HasPrefix(id, "said/") { // Items of messages were ended at once.
				l.finish(id)
			}
		}
	}
	if l.turns++; l.turns > maxMilestones {
		return
	}
	message := "remote task is " + clip(string(r.State), maxName)
	if words := r.words(); words != "" && !r.State.terminal() {
		message += ": " + clip(words, maxEvidence)
	}
	l.task.Hand.Progress(events.SubJobProgressed{Message: message})
}

func (l *live) send(p piece) {
	body, err := json.Marshal(p)
	if err != nil {
		return // Best effort.
	}
	l.task.Hand.Live(body)
}
