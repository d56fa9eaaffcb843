package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/knowledge"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// Memory says what an agent remembers of users.
type Memory int

// The kinds of memory.
const (
	// ExplicitMemory remembers what the model passes to the tool remember.
	ExplicitMemory Memory = iota
	// SummaryMemory also asks the model at the end of a run what is worth remembering.
	SummaryMemory
	// NoMemory remembers and recalls nothing.
	NoMemory
)

const (
	// maxPassages is how many passages a conversation begins with.
	maxPassages = 6
	// leastShare is the least share of the best passage's score that a further passage needs.
	leastShare = 0.25
	// maxRetrieved limits the answer of a retriever, in bytes.
	maxRetrieved = 1 << 20
)

// memory is what the agent remembers of the user of the run; nil if it must not.
func (r *run) memory() tool.Memory {
	if r.config.Memory == NoMemory {
		return nil
	}
	return r.task.Memory
}

// recall finds what a conversation should know before it begins. It is journaled with the opening, so that a runner that continues
// the run tells the model the same.
func (r *run) recall(ctx context.Context, b *conversation.Brief) (conversation.Recalled, error) {
	hits, err := r.retrieve(ctx, query(b))
	if err != nil {
		return conversation.Recalled{}, fmt.Errorf("retrieve knowledge: %w", err)
	}
	var passages []conversation.Passage
	for i := range hits {
		if hits[i].Score < leastShare*hits[0].Score {
			break
		}
		passages = append(passages, conversation.Passage{Source: hits[i].Source(), Text: hits[i].Text})
	}
	var facts []string
	if m := r.memory(); m != nil {
		known, err := m.Recall(ctx)
		if err != nil {
			return conversation.Recalled{}, fmt.Errorf("recall what is known of the user: %w", err)
		}
		for i := range known {
			facts = append(facts, known[i].Text)
		}
	}
	return conversation.NewRecalled(passages, facts, slices.Contains(r.names, tool.SearchKnowledge)), nil
}

// query is the text to search passages with: the goal of the step, its context, and the request.
func query(b *conversation.Brief) string {
	texts := []string{b.Work.Goal, b.Step.Instruction, b.Work.Context, b.Work.CompletionCriteria}
	if b.Job != nil && b.Job.Request.Goal != b.Work.Goal {
		texts = append(texts, b.Job.Request.Goal)
	}
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return strings.TrimSpace(text) == "" }), "\n")
}

// retrieve returns the best passages for a query, from the card's retriever or else from the bases.
func (r *run) retrieve(ctx context.Context, query string) ([]knowledge.Hit, error) {
	if r.config.Retriever != "" {
		return r.retrieveBy(ctx, r.config.Retriever, query)
	}
	if r.shelf == nil {
		return nil, nil
	}
	found, err := r.shelf.Search(ctx, query, maxPassages)
	return found.Hits, err
}

// retrieveBy asks a tool for passages: {"query", "most", "user", "session"} in, {"passages": [{"source", "text", "heading", "score"}]}
// out, best first.
func (r *run) retrieveBy(ctx context.Context, name, query string) ([]knowledge.Hit, error) {
	tools, err := r.config.boxOf(name).Open(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	if len(tools) != 1 {
		return nil, &events.Fault{Code: events.CodeInvalid, Field: "retriever", Message: fmt.Sprintf("%q stands for %d tools", name, len(tools)), Hint: "name one tool"}
	}
	w := r.task.Work
	args, err := json.Marshal(map[string]any{"query": query, "most": maxPassages, "user": w.User, "session": w.Session, "knowledge": append(slices.Clone(r.config.Knowledge), w.Knowledge...)})
	if err != nil {
		return nil, err
	}
	text, err := tools[0].Call(ctx, tool.Call{Args: string(args), Key: w.IdempotencyKey + "/retrieve"})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Passages []struct {
			Source  string  `json:"source"`
			Heading string  `json:"heading"`
			Text    string  `json:"text"`
			Score   float64 `json:"score"`
		} `json:"passages"`
	}
	if len(text) > maxRetrieved || json.Unmarshal([]byte(text), &answer) != nil {
		return nil, &events.Fault{
			Code: events.CodeMalformed, Field: "retriever", Message: fmt.Sprintf("%s answered %d bytes that are no passages", name, len(text)),
			Hint: `it has to answer {"passages":[{"source":"…","text":"…"}]}`,
		}
	}
	var hits []knowledge.Hit
	for _, p := range answer.Passages[:min(len(answer.Passages), maxPassages)] {
		hit := knowledge.Hit{Name: p.Source, Heading: p.Heading, Text: p.Text, Score: p.Score}
		hit.Base.Scope, hit.Base.Name = "base", name
		hits = append(hits, hit)
	}
	return hits, nil
}
