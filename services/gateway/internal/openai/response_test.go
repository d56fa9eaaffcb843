package openai_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/openai"
)

func TestARequestForAResponseIsAConversation(t *testing.T) {
	for text, want := range map[string]struct {
		last, past, instructions, field string
	}{
		`{"model":"m","input":"a","instructions":"Be brief."}`: {last: "a", instructions: "Be brief."},
		`{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"reasoning","summary":[]},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]},{"role":"user","content":"c"}]}`: {last: "c", past: "ab"},
		`{"model":"m","input":"a","background":true}`: {field: "background"},
		`{"model":"m","input":7}`:                     {field: "input"},
		`{"model":"m","input":[{"type":"function_call_output","call_id":"x","output":""}]}`: {field: "input[0].type"},
		`{"model":"m","input":"a","tools":[{}]}`:                                            {field: "tools"},
		`{"model":"m","input":"a","text":{"format":{"type":"json_schema"}}}`:                {field: "response_format"},
	} {
		var r verb.ResponseRequest
		musttest.Decode(t, []byte(text), &r)
		chat, err := openai.ReadResponse(&r)
		var c *openai.Conversation
		if err == nil {
			c, err = openai.Read(chat)
		}
		var fault *events.Fault
		if want.field != "" {
			if !errors.As(err, &fault) || fault.Field != want.field || fault.Hint == "" {
				t.Errorf("%s: %v, want a fault of %s", text, err, want.field)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		past := ""
		for _, m := range c.Past {
			past += m.Text
		}
		if c.Last != want.last || past != want.past || c.Instructions != want.instructions {
			t.Errorf("%s: %+v", text, c)
		}
	}
	for text, want := range map[string]string{`"s"`: "s", `{"id":"t"}`: "t", ``: "", `7`: "", `null`: ""} {
		if got := openai.Conversing(json.RawMessage(text)); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
