package agent

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// live shows watchers what the agent says and does: in pieces to current listeners, and as items.
type live struct {
	task *expert.Task
	mu   sync.Mutex // Keeps messages in order: tools run concurrently.
}

// tell passes on a piece of an item of a type.
func (l *live) tell(p llm.Piece, t item.Type) {
	body, err := json.Marshal(p)
	if err != nil {
		return // Best effort.
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.task.Hand.Live(body)
	if t == item.Tool || p.Tool == "" { // A call that is part of a text is shown as a separate item when it is made.
		l.task.Show(item.Item{Type: t, ID: p.Item, Offset: p.Offset, Text: p.Text, Tool: p.Tool, Args: p.Args, Done: p.Done, Bytes: p.Bytes})
	}
}

// answer returns the sink of one model call, and what to call when it has ended; text and reasoning are separate items.
func (l *live) answer(number int) (sink func(llm.Delta), done func()) {
	said, thought := fmt.Sprintf("answer/%d", number), fmt.Sprintf("thought/%d", number)
	types := map[string]item.Type{said: item.Text, thought: item.Thinking}
	begun, retries := map[string]bool{}, 0
	pieces := llm.Pieces(said, thought, func(p llm.Piece) {
		begun[p.Item] = begun[p.Item] || p.Text != ""
		l.tell(p, types[p.Item])
	})
	sink = func(d llm.Delta) {
		if d.Retry != "" {
			retries++
			l.task.Show(item.Item{Type: item.Warning, ID: fmt.Sprintf("%s/retry/%d", said, retries), Text: d.Retry + "; it is asked again", Done: true})
		}
		pieces(d)
	}
	return sink, func() {
		for _, id := range []string{thought, said} {
			if begun[id] {
				l.task.Show(item.Item{Type: types[id], ID: id, Done: true})
			}
		}
	}
}

// maxArgs limits the reported arguments of a call, in bytes.
const maxArgs = 1 << 10

func (l *live) call(id string, c *conversation.Call) {
	args := c.Args
	if len(args) > maxArgs {
		args = args[:maxArgs]
	}
	l.tell(llm.Piece{Item: id, Tool: c.Name, Args: args}, item.Tool)
}

// output returns the sink for what a call prints while it runs.
func (l *live) output(id string) func(text string) {
	offset := 0
	return func(text string) {
		l.tell(llm.Piece{Item: id + "/output", Offset: offset, Text: text}, item.Log)
		offset += len(text)
	}
}

// done shows the end of a call: its size, its outcome and how long it took.
func (l *live) done(id string, size int, outcome string, took time.Duration) {
	body, err := json.Marshal(llm.Piece{Item: id, Done: true, Bytes: size})
	if err != nil {
		return // Best effort.
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.task.Hand.Live(body)
	l.task.Show(item.Item{Type: item.Tool, ID: id, Done: true, Bytes: size, Outcome: outcome, TookMS: took.Milliseconds()})
}
