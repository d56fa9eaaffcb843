package a2atest

import (
	"context"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// Stage is where a Play speaks: one message, and the task that it is about.
type Stage struct {
	// Ctx ends when the server has no use for what is said any more.
	Ctx context.Context
	// Message is what came, Fresh is true when it begins a task.
	Message *sdk.Message
	Fresh   bool

	info sdk.TaskInfo
	emit func(sdk.Event) bool
}

// Task is the id of the task.
func (s *Stage) Task() string { return string(s.info.TaskID) }

// Begin makes the task. Without it an agent can only Answer.
func (s *Stage) Begin() {
	if s.Fresh {
		s.emit(sdk.NewSubmittedTask(s.info, s.Message))
	}
}

// Say puts the task into a state, with a message unless the text is empty, and with metadata in pairs of key and value.
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

// Make makes an artifact, or more of it.
func (s *Stage) Make(id string, more bool, parts ...*sdk.Part) {
	e := sdk.NewArtifactUpdateEvent(s.info, sdk.ArtifactID(id), parts...)
	e.Append = more
	s.emit(e)
}

// Answer answers without a task.
func (s *Stage) Answer(text string) {
	s.emit(sdk.NewMessage(sdk.MessageRoleAgent, sdk.NewTextPart(text)))
}
