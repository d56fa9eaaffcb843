package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// teller is the agent; it keeps its tasks in memory.
type teller struct {
	mu    sync.Mutex // Guards tasks, and what is in them.
	tasks map[string]*task
}

// message is a message of a caller, as far as the teller reads it.
type message struct {
	ID     string `json:"messageId"`
	TaskID string `json:"taskId"`
	Parts  []struct {
		Text string `json:"text"`
		Data struct {
			Inputs struct {
				Text string `json:"text"`
			} `json:"inputs"`
		} `json:"data"`
	} `json:"parts"`
}

// task is a task in the sense of A2A: the work on a message.
type task struct {
	ID        string     `json:"id"`
	ContextID string     `json:"contextId"`
	Status    status     `json:"status"`
	Artifacts []artifact `json:"artifacts,omitempty"`
}

type status struct {
	State     string         `json:"state"`
	Message   map[string]any `json:"message,omitempty"`
	Timestamp time.Time      `json:"timestamp"`
}

type artifact struct {
	ID    string           `json:"artifactId"`
	Parts []map[string]any `json:"parts"`
}

// rpcError is a JSON-RPC error.
type rpcError struct {
	code    int
	message string
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.message, e.code) }

// answer executes the method that a call names.
func (t *teller) answer(c *call) (any, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch c.Method {
	case "SendMessage":
		k, err := t.send(&c.Params.Message)
		return map[string]any{"task": k}, err
	case "GetTask":
		return t.find(c.Params.ID)
	case "CancelTask":
		k, err := t.find(c.Params.ID)
		if err == nil {
			k.turn("TASK_STATE_CANCELED", "")
		}
		return k, err
	}
	return nil, &rpcError{-32601, "method not found"}
}

func (t *teller) find(id string) (*task, error) {
	if k := t.tasks[id]; k != nil {
		return k, nil
	}
	return nil, &rpcError{-32001, "task not found"}
}

// send begins a task, or continues one that has asked for its text.
func (t *teller) send(m *message) (*task, error) {
	k := &task{ID: rand.Text(), ContextID: rand.Text()}
	text := ""
	for _, p := range m.Parts {
		text += p.Data.Inputs.Text
	}
	if m.TaskID != "" {
		var err error
		if k, err = t.find(m.TaskID); err != nil {
			return nil, err
		}
		text = ""
		for _, p := range m.Parts {
			text += p.Text
		}
	}
	t.tasks[k.ID] = k
	fmt.Fprintf(os.Stderr, "teller: message %s for task %s\n", m.ID, k.ID)
	if strings.TrimSpace(text) == "" {
		k.turn("TASK_STATE_INPUT_REQUIRED", "Which text shall I count?")
		return k, nil
	}
	counts := map[string]any{"lines": len(strings.Split(strings.TrimSpace(text), "\n")), "words": len(strings.Fields(text))}
	k.Artifacts = []artifact{{ID: "counts", Parts: []map[string]any{{"data": counts}}}}
	k.turn("TASK_STATE_COMPLETED", "")
	return k, nil
}

func (k *task) turn(state, text string) {
	k.Status = status{State: state, Timestamp: time.Now().UTC()}
	if text != "" {
		k.Status.Message = map[string]any{"messageId": rand.Text(), "role": "ROLE_AGENT", "parts": []any{map[string]any{"text": text}}}
	}
}
