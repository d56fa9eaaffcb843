package a2a

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// maxMilestones limits the state changes of a task that are published as progress.
const maxMilestones = 50

// live reports the agent's activity to watchers. Only milestones are stored.
type live struct {
	hand expert.Hand
	// texts holds the lengths of growing items.
	texts map[string]int
	// streams remove secrets that are split over several pieces, by item.
	redactor *redact.Redactor
	streams  map[string]*redact.Stream
	said     int
	turns    int
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

// tell passes an update on.
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
		item := fmt.Sprintf("said/%d", l.said)
		l.text(item, said, false)
		l.rest(item)
	}
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
			raw = nil // It was decoded from JSON.
		}
		p = piece{Item: p.Item, Done: true, Bytes: len(raw)}
	} else if args, err := json.Marshal(meta["tool_args"]); err == nil && meta["tool_args"] != nil {
		p.Args = clip(string(args), 1<<10)
	}
	l.send(p)
	return true
}

// text continues an item, or restarts it.
func (l *live) text(item, text string, more bool) {
	if text == "" {
		return
	}
	if l.texts == nil {
		l.texts, l.streams = map[string]int{}, map[string]*redact.Stream{}
	}
	if !more {
		l.texts[item] = 0
	}
	if !more || l.streams[item] == nil {
		l.streams[item] = l.redactor.Stream(false)
	}
	l.pass(item, l.streams[item].Feed(text))
}

// pass publishes text that is certainly not part of a secret.
func (l *live) pass(item, text string) {
	if text == "" {
		return
	}
	l.send(piece{Item: item, Offset: l.texts[item], Text: clip(text, maxShown)})
	l.texts[item] += len(text)
}

// rest publishes the held-back end of an item that does not continue.
func (l *live) rest(item string) {
	if s := l.streams[item]; s != nil {
		l.pass(item, s.Flush())
	}
}

// turn publishes a milestone: the task is in another state.
func (l *live) turn(r *record) {
	if r.State.terminal() {
		for _, item := range slices.Sorted(maps.Keys(l.streams)) {
			l.rest(item)
		}
	}
	if l.turns++; l.turns > maxMilestones {
		return
	}
	message := "remote task is " + clip(string(r.State), maxName)
	if words := r.words(); words != "" && !r.State.terminal() {
		message += ": " + clip(words, maxEvidence)
	}
	l.hand.Progress(events.SubJobProgressed{Message: message})
}

func (l *live) send(p piece) {
	body, err := json.Marshal(p)
	if err != nil {
		return // Best effort.
	}
	l.hand.Live(body)
}
