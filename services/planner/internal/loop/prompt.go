package loop

import (
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// mostPrompt is how much of the text of one call is recorded, in bytes.
const mostPrompt = 256 << 10

// prompted returns what a call asks a model, with at most this many bytes of text; nil for a command that asks no model.
func prompted(c *planning.Command, most int) *events.Prompt {
	if c.Call == nil {
		return nil
	}
	p := &events.Prompt{Role: c.Call.Role, Schema: c.Call.Name}
	for _, m := range c.Call.Messages {
		text := clip.Text(m.Text, most)
		most -= len(text)
		p.Messages = append(p.Messages, events.Asked{Role: m.Role, Text: text, Truncated: len(m.Text) - len(text)})
	}
	return p
}

// prompt returns what is recorded about a call before it is made: nothing, unless the request has Debug.
func (r *record) prompt(c *planning.Command) []byte {
	if r.w.Request == nil || !r.w.Request.Debug {
		return nil
	}
	p := prompted(c, mostPrompt)
	if p == nil {
		return nil
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil // Texts can always be encoded.
	}
	return text
}

// mostShown is how much of the text of one call becomes a live item, in bytes: a quarter of what may wait for a slow bus.
const mostShown = 16 << 10

// showPrompt shows the prompt if the request has Debug.
func (t *planningRun) showPrompt(c *planning.Command) {
	if p := prompted(c, mostShown); p != nil && t.start.Request.Debug {
		t.show(item.Item{Type: item.Prompt, ID: "prompt/" + c.Key, Text: p.String(), Done: true})
	}
}

// showRaw shows the unchanged answer if the request has Debug.
func (t *planningRun) showRaw(c *planning.Command, f *planning.Fact) {
	if c.Call == nil || !t.start.Request.Debug {
		return
	}
	text := clip.Text(f.Text, mostShown)
	t.show(item.Item{Type: item.Raw, ID: "raw/" + c.Key, Text: text, Truncated: len(f.Text) - len(text), Done: true})
}
