package agent

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// live reports progress to watchers. Nothing of it is stored.
type live struct {
	hand expert.Hand
	mu   sync.Mutex // Keeps messages in order: tools run concurrently.
}

func (l *live) tell(p llm.Piece) {
	body, err := json.Marshal(p)
	if err != nil {
		return // Best effort.
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hand.Live(body)
}

// answer returns the sink of one model call; text and reasoning are separate items.
func (l *live) answer(number int) func(llm.Delta) {
	return llm.Pieces(fmt.Sprintf("answer/%d", number), fmt.Sprintf("thought/%d", number), l.tell)
}

// maxArgs limits the reported arguments of a call, in bytes.
const maxArgs = 1 << 10

func (l *live) call(item string, c *conversation.Call) {
	args := c.Args
	if len(args) > maxArgs {
		args = args[:maxArgs]
	}
	l.tell(llm.Piece{Item: item, Tool: c.Name, Args: args})
}

// output returns the sink of what a call prints while it lasts.
func (l *live) output(item string) func(text string) {
	offset := 0
	return func(text string) {
		l.tell(llm.Piece{Item: item + "/output", Offset: offset, Text: text})
		offset += len(text)
	}
}

func (l *live) done(item string, size int) { l.tell(llm.Piece{Item: item, Done: true, Bytes: size}) }
