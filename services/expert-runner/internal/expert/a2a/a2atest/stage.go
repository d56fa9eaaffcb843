package a2atest

import (
	"context"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// Stage is the context of a Play: one message and its task.
type Stage struct {
	// Ctx ends when the server needs no further answers.
	Ctx context.Context
	// Message is the received message; Fresh is true if it starts a task.
	Message *sdk.Message
	Fresh   bool

	info sdk.TaskInfo
	emit func(sdk.Event) bool
}

// Task returns the id of the task.
func (s *Stage) Task() string { return string(s.info.TaskID) }

// Begin creates the task. Without it an agent can only Answer.
func (s *Stage) Begin() {
	if s.Fresh {
		s.emit(sdk.NewSubmittedTask(s.info, s.Message))
	}
}

// Say sets the state of the task, with a message unless text is empty, and with metadata as alternating keys and values.
func (s *Stage) Say(state sdk.TaskState, text string, meta ...any) {
	var m *sdk.Message
	if text != "" {
		m = sdk.NewMessageForTask(sdk.MessageRoleAgent, s.info, sdk.NewTextPart(text))
	}
	e := sdk.NewStatusUpdateEvent(s.info, state, m)
	for i := 0; i+1 < len(meta); i += 2 {
		key, _ := meta[i].(string)
		e.SetMeta(key, meta[i+1])
	}
	s.emit(e)
}

// Make creates an artifact, or appends to one.
func (s *Stage) Make(id string, more bool, parts ...*sdk.Part) {
	e := sdk.NewArtifactUpdateEvent(s.info, sdk.ArtifactID(id), parts...)
	e.Append = more
	s.emit(e)
}

// Answer answers without a task.
func (s *Stage) Answer(text string) {
	s.emit(sdk.NewMessage(sdk.MessageRoleAgent, sdk.NewTextPart(text)))
}
