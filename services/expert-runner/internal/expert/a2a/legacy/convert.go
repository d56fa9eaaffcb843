package legacy

import (
	"encoding/base64"
	"fmt"
	"maps"

	wire "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2a"
)

// wrapped is the key in a part's metadata that marks data which was not an object: an object contains it under the key "value".
const wrapped = "data_part_compat"

// readEvent reads an event by its kind.
func readEvent(data []byte) (a2a.Event, error) {
	event, err := wire.UnmarshalEventJSON(data)
	if err != nil {
		return nil, err
	}
	switch e := event.(type) {
	case *wire.Message:
		return toMessage(e), nil
	case *wire.Task:
		return toTask(e), nil
	case *wire.TaskStatusUpdateEvent:
		return &a2a.TaskStatusUpdateEvent{
			TaskID: a2a.TaskID(e.TaskID), ContextID: e.ContextID, Status: toStatus(&e.Status), Metadata: e.Metadata,
		}, nil
	case *wire.TaskArtifactUpdateEvent:
		return &a2a.TaskArtifactUpdateEvent{
			TaskID: a2a.TaskID(e.TaskID), ContextID: e.ContextID, Artifact: toArtifact(e.Artifact),
			Append: e.Append, LastChunk: e.LastChunk, Metadata: e.Metadata,
		}, nil
	}
	return nil, fmt.Errorf("unknown event %T", event)
}

func toTask(t *wire.Task) *a2a.Task {
	return &a2a.Task{
		ID: a2a.TaskID(t.ID), ContextID: t.ContextID, Status: toStatus(&t.Status), Metadata: t.Metadata,
		Artifacts: each(t.Artifacts, toArtifact), History: each(t.History, toMessage),
	}
}

func toStatus(s *wire.TaskStatus) a2a.TaskStatus {
	return a2a.TaskStatus{State: toState(s.State), Message: toMessage(s.Message), Timestamp: s.Timestamp}
}

// toState translates a state. One that spec 1.0 does not know becomes unspecified.
func toState(s wire.TaskState) a2a.TaskState {
	switch s {
	case wire.TaskStateAuthRequired:
		return a2a.TaskStateAuthRequired
	case wire.TaskStateCanceled:
		return a2a.TaskStateCanceled
	case wire.TaskStateCompleted:
		return a2a.TaskStateCompleted
	case wire.TaskStateFailed:
		return a2a.TaskStateFailed
	case wire.TaskStateInputRequired:
		return a2a.TaskStateInputRequired
	case wire.TaskStateRejected:
		return a2a.TaskStateRejected
	case wire.TaskStateSubmitted:
		return a2a.TaskStateSubmitted
	case wire.TaskStateWorking:
		return a2a.TaskStateWorking
	}
	return a2a.TaskStateUnspecified
}

func toMessage(m *wire.Message) *a2a.Message {
	if m == nil {
		return nil
	}
	return &a2a.Message{
		ID: m.ID, TaskID: a2a.TaskID(m.TaskID), ContextID: m.ContextID, Role: toRole(m.Role), Parts: each(m.Parts, toPart), Metadata: m.Metadata,
		Extensions: m.Extensions, ReferenceTasks: each(m.ReferenceTasks, func(id wire.TaskID) a2a.TaskID { return a2a.TaskID(id) }),
	}
}

func toRole(r wire.MessageRole) a2a.MessageRole {
	switch r {
	case wire.MessageRoleAgent:
		return a2a.MessageRoleAgent
	case wire.MessageRoleUser:
		return a2a.MessageRoleUser
	}
	return a2a.MessageRoleUnspecified
}

func toArtifact(a *wire.Artifact) *a2a.Artifact {
	if a == nil {
		return nil
	}
	return &a2a.Artifact{
		ID: a2a.ArtifactID(a.ID), Name: a.Name, Description: a.Description, Parts: each(a.Parts, toPart), Metadata: a.Metadata, Extensions: a.Extensions,
	}
}

func toPart(p wire.Part) *a2a.Part {
	part := &a2a.Part{Metadata: p.Meta()}
	switch p := p.(type) {
	case wire.TextPart:
		part.Content = a2a.Text(p.Text)
	case wire.DataPart:
		part.Content = a2a.Data{Value: p.Data}
		if is, _ := p.Metadata[wrapped].(bool); is {
			part.Content, part.Metadata = a2a.Data{Value: p.Data["value"]}, maps.Clone(p.Metadata)
			delete(part.Metadata, wrapped)
		}
	case wire.FilePart:
		switch f := p.File.(type) {
		case wire.FileBytes:
			part.Filename, part.MediaType = f.Name, f.MimeType
			raw, err := base64.StdEncoding.DecodeString(f.Bytes)
			if err != nil {
				raw = []byte(f.Bytes) // Some agents send it unencoded, against the spec.
			}
			part.Content = a2a.Raw(raw)
		case wire.FileURI:
			part.Filename, part.MediaType, part.Content = f.Name, f.MimeType, a2a.URL(f.URI)
		}
	}
	return part
}

func toPush(c *wire.TaskPushConfig) *a2a.PushConfig {
	push := &a2a.PushConfig{TaskID: a2a.TaskID(c.TaskID), ID: c.Config.ID, URL: c.Config.URL, Token: c.Config.Token}
	if auth := c.Config.Auth; auth != nil {
		push.Auth = &a2a.PushAuthInfo{Credentials: auth.Credentials}
		if len(auth.Schemes) > 0 {
			push.Auth.Scheme = auth.Schemes[0]
		}
	}
	return push
}

func sendParams(r *a2a.SendMessageRequest) *wire.MessageSendParams {
	params := &wire.MessageSendParams{Message: fromMessage(r.Message), Metadata: r.Metadata}
	if c := r.Config; c != nil {
		waits := !c.ReturnImmediately
		params.Config = &wire.MessageSendConfig{
			AcceptedOutputModes: c.AcceptedOutputModes, HistoryLength: c.HistoryLength, Blocking: &waits, PushConfig: fromPush(c.PushConfig),
		}
	}
	return params
}

func fromMessage(m *a2a.Message) *wire.Message {
	if m == nil {
		return nil
	}
	return &wire.Message{
		ID: m.ID, TaskID: wire.TaskID(m.TaskID), ContextID: m.ContextID, Role: fromRole(m.Role), Parts: each(m.Parts, fromPart), Metadata: m.Metadata,
		Extensions: m.Extensions, ReferenceTasks: each(m.ReferenceTasks, func(id a2a.TaskID) wire.TaskID { return wire.TaskID(id) }),
	}
}

func fromRole(r a2a.MessageRole) wire.MessageRole {
	switch r {
	case a2a.MessageRoleAgent:
		return wire.MessageRoleAgent
	case a2a.MessageRoleUser:
		return wire.MessageRoleUser
	}
	return wire.MessageRoleUnspecified
}

func fromPart(p *a2a.Part) wire.Part {
	meta := wire.FileMeta{Name: p.Filename, MimeType: p.MediaType}
	switch c := p.Content.(type) {
	case a2a.Text:
		return wire.TextPart{Text: string(c), Metadata: p.Metadata}
	case a2a.Raw:
		return wire.FilePart{File: wire.FileBytes{FileMeta: meta, Bytes: base64.StdEncoding.EncodeToString(c)}, Metadata: p.Metadata}
	case a2a.URL:
		return wire.FilePart{File: wire.FileURI{FileMeta: meta, URI: string(c)}, Metadata: p.Metadata}
	case a2a.Data:
		if object, ok := c.Value.(map[string]any); ok {
			return wire.DataPart{Data: object, Metadata: p.Metadata}
		}
		marked := map[string]any{}
		maps.Copy(marked, p.Metadata)
		marked[wrapped] = true
		return wire.DataPart{Data: map[string]any{"value": c.Value}, Metadata: marked}
	}
	return wire.DataPart{Data: map[string]any{"value": p}, Metadata: p.Metadata}
}

func fromPush(c *a2a.PushConfig) *wire.PushConfig {
	if c == nil {
		return nil
	}
	push := &wire.PushConfig{ID: c.ID, URL: c.URL, Token: c.Token}
	if c.Auth != nil {
		push.Auth = &wire.PushAuthInfo{Credentials: c.Auth.Credentials, Schemes: []string{c.Auth.Scheme}}
	}
	return push
}

// each translates the elements of a list. The result is nil for a list without elements.
func each[A, B any](list []A, translate func(A) B) []B {
	if len(list) == 0 {
		return nil
	}
	out := make([]B, 0, len(list))
	for _, element := range list {
		out = append(out, translate(element))
	}
	return out
}
