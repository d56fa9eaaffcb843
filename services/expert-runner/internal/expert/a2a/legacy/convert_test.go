package legacy

import (
	"testing"
	"time"

	wire "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// sent lists requests to send a message, with every kind of part and setting.
func sent() map[string]*a2a.SendMessageRequest {
	three := 3
	meta := map[string]any{"k": "v"}
	list := map[string]*a2a.SendMessageRequest{
		"no configuration": {Message: &a2a.Message{ID: "m", Role: a2a.MessageRoleUser}, Metadata: meta},
		"all of it": {Message: &a2a.Message{
			ID: "m", TaskID: "t", ContextID: "c", Role: a2a.MessageRoleAgent, Metadata: meta, Extensions: []string{"https://x/e"},
			ReferenceTasks: []a2a.TaskID{"a", "b"}, Parts: a2a.ContentParts{a2a.NewTextPart("one"), a2a.NewTextPart("two")},
		}, Config: &a2a.SendMessageConfig{AcceptedOutputModes: []string{"text/plain"}, HistoryLength: &three}},
		"at once":        {Message: &a2a.Message{Role: "ROLE_OTHER"}, Config: &a2a.SendMessageConfig{ReturnImmediately: true}},
		"push":           {Message: &a2a.Message{}, Config: &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{ID: "p", TaskID: "t", URL: "https://x", Token: "s"}}},
		"push with auth": {Message: &a2a.Message{}, Config: &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "s"}}}},
	}
	for name, p := range map[string]*a2a.Part{
		"text":              {Content: a2a.Text("x"), Metadata: meta},
		"an object":         {Content: a2a.Data{Value: map[string]any{"a": 1.0}}, Metadata: meta},
		"a list":            {Content: a2a.Data{Value: []any{1.0, "two"}}, Metadata: map[string]any{wrapped: false, "k": 1.0}},
		"a null":            {Content: a2a.Data{}},
		"bytes":             {Content: a2a.Raw("\x00\xff"), Filename: "a.bin", MediaType: "application/x", Metadata: meta},
		"no bytes":          {Content: a2a.Raw{}, Filename: "empty"},
		"an address":        {Content: a2a.URL("https://x/y"), Filename: "y", MediaType: "text/html", Metadata: meta},
		"a part of no kind": {Metadata: meta},
	} {
		list[name] = &a2a.SendMessageRequest{Message: &a2a.Message{ID: "m", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{p}}}
	}
	return list
}

// The SDK's own transport is the reference for requests.
func TestARequestIsWrittenAsTheSDKWritesIt(t *testing.T) {
	for name, r := range sent() {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(string(musttest.JSON(t, a2av0.FromV1SendMessageRequest(r))), string(musttest.JSON(t, sendParams(r)))); diff != "" {
				t.Errorf("-SDK +ours:\n%s", diff)
			}
		})
	}
}

// told lists events of agents, with every kind, part and state.
func told() map[string]string {
	list := map[string]string{
		"a message": `{"kind":"message","messageId":"m","taskId":"t","contextId":"c","role":"agent","metadata":{"k":1},"extensions":["https://x/e"],"referenceTaskIds":["a"],"parts":[]}`,
		"a task": `{"kind":"task","id":"t","contextId":"c","metadata":{"k":1},"status":{"state":"working","timestamp":"2026-01-02T03:04:05Z","message":{"messageId":"m","role":"agent","parts":[{"kind":"text","text":"x"}]}},
			"artifacts":[{"artifactId":"a","name":"n","description":"d","extensions":["e"],"metadata":{"k":2},"parts":[{"kind":"text","text":"y"}]},null],
			"history":[{"messageId":"h","role":"user","parts":[]},null]}`,
		"a status":           `{"kind":"status-update","taskId":"t","contextId":"c","final":true,"metadata":{"k":1},"status":{"state":"completed"}}`,
		"an artifact":        `{"kind":"artifact-update","taskId":"t","contextId":"c","append":true,"lastChunk":true,"metadata":{"k":1},"artifact":{"artifactId":"a","parts":[]}}`,
		"no artifact":        `{"kind":"artifact-update","taskId":"t","contextId":"c"}`,
		"a role of no kind":  `{"kind":"message","messageId":"m","role":"robot","parts":[]}`,
		"an event of a kind": `{"kind":"other"}`,
		"no kind":            `{}`,
		"no object":          `[]`,
		"null":               `null`,
		"nothing":            ``,
		"cut off":            `{"kind":"task","id":`,
	}
	for name, part := range map[string]string{
		"text":              `{"kind":"text","text":"x","metadata":{"k":1}}`,
		"an object":         `{"kind":"data","data":{"a":[1]},"metadata":{"k":1}}`,
		"a wrapped list":    `{"kind":"data","data":{"value":[1]},"metadata":{"data_part_compat":true,"k":1}}`,
		"a wrapped nothing": `{"kind":"data","data":{},"metadata":{"data_part_compat":true}}`,
		"no wrapping":       `{"kind":"data","data":{"value":[1]},"metadata":{"data_part_compat":"yes"}}`,
		"no data":           `{"kind":"data"}`,
		"bytes":             `{"kind":"file","file":{"bytes":"AP8=","name":"a.bin","mimeType":"application/x"},"metadata":{"k":1}}`,
		"bytes as they are": `{"kind":"file","file":{"bytes":"no base64!"}}`,
		"an address":        `{"kind":"file","file":{"uri":"https://x/y","name":"y","mimeType":"text/html"},"metadata":{"k":1}}`,
		"both":              `{"kind":"file","file":{"uri":"https://x/y","bytes":"AP8="}}`,
		"an empty file":     `{"kind":"file","file":{}}`,
		"a part of no kind": `{"kind":"smell"}`,
		"no part":           `null`,
	} {
		list["part: "+name] = `{"kind":"message","messageId":"m","role":"agent","parts":[` + part + `]}`
	}
	for _, state := range []wire.TaskState{
		wire.TaskStateUnspecified, wire.TaskStateAuthRequired, wire.TaskStateCanceled, wire.TaskStateCompleted, wire.TaskStateFailed,
		wire.TaskStateInputRequired, wire.TaskStateRejected, wire.TaskStateSubmitted, wire.TaskStateUnknown, wire.TaskStateWorking, "pondering",
	} {
		list["state: "+string(state)] = `{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"` + string(state) + `"}}`
	}
	return list
}

// reference decodes an event with the SDK's own transport.
func reference(data []byte) (a2a.Event, error) {
	event, err := wire.UnmarshalEventJSON(data)
	if err != nil {
		return nil, err
	}
	return a2av0.ToV1Event(event)
}

func TestAnEventIsReadAsTheSDKReadsIt(t *testing.T) {
	for name, body := range told() {
		t.Run(name, func(t *testing.T) {
			want, refused := reference([]byte(body))
			got, err := readEvent([]byte(body))
			if (err == nil) != (refused == nil) {
				t.Fatalf("the SDK says %v, ours %v", refused, err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-SDK +ours:\n%s", diff)
			}
		})
	}
}

func TestATimeOfAStatusIsKept(t *testing.T) {
	event := musttest.Get(readEvent([]byte(told()["a task"])))(t)
	if at := event.(*a2a.Task).Status.Timestamp; at == nil || !at.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("%v", at)
	}
}

// FuzzEvent checks that any event is decoded as the SDK decodes it.
func FuzzEvent(f *testing.F) {
	for _, body := range told() {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		want, refused := reference(body)
		got, err := readEvent(body)
		if (err == nil) != (refused == nil) {
			t.Fatalf("the SDK says %v, ours %v", refused, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("-SDK +ours:\n%s", diff)
		}
	})
}
