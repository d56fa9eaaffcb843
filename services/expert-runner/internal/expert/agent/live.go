package agent

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/turn"
)

// live tells whoever watches what is going on. Nothing of it is stored.
type live struct {
	hand expert.Hand
	mu   sync.Mutex // Guards the order of what is told: tools run side by side.
}

// piece is one message to those who watch: it continues an item at an offset in bytes. An offset of 0 begins it again.
type piece struct {
	Item   string `json:"item"`
	Offset int    `json:"offset"`
	Text   string `json:"text,omitempty"`
	// Tool and Args say what is called; Done that the call is over, after which Bytes is what it gave.
	Tool  string `json:"tool,omitempty"`
	Args  string `json:"args,omitempty"`
	Done  bool   `json:"done,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
}

func (l *live) tell(p piece) {
	body, err := json.Marshal(p)
	if err != nil {
		return // Nobody is owed it.
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hand.Live(body)
}

// answer gives the sink of one question: what is said and what is thought are items of their own.
func (l *live) answer(number int) func(llm.Delta) {
	said, thought := fmt.Sprintf("answer/%d", number), fmt.Sprintf("thought/%d", number)
	var texts, thoughts int
	return func(d llm.Delta) {
		if d.Restart {
			texts, thoughts = 0, 0
		}
		if d.Text != "" {
			l.tell(piece{Item: said, Offset: texts, Text: d.Text})
			texts += len(d.Text)
		}
		if d.Reasoning != "" {
			l.tell(piece{Item: thought, Offset: thoughts, Text: d.Reasoning})
			thoughts += len(d.Reasoning)
		}
		if d.Call != "" {
			l.tell(piece{Item: said, Offset: texts, Tool: d.Call})
		}
	}
}

// maxArgs is how much of a call's arguments is told, in bytes.
const maxArgs = 1 << 10

func (l *live) call(item string, c *turn.Call) {
	args := c.Args
	if len(args) > maxArgs {
		args = args[:maxArgs]
	}
	l.tell(piece{Item: item, Tool: c.Name, Args: args})
}

func (l *live) done(item string, size int) { l.tell(piece{Item: item, Done: true, Bytes: size}) }
