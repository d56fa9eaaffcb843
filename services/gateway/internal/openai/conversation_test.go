package openai_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/openai"
)

func request(t *testing.T, text string) *verb.ChatRequest {
	t.Helper()
	var r verb.ChatRequest
	musttest.Decode(t, []byte(text), &r)
	return &r
}

func TestAConversationIsWhatWasSaidAndTheLastMessage(t *testing.T) {
	c := musttest.Get(openai.Read(request(t, `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"a"},{"role":"assistant","content":"b"},
		{"role":"developer","content":[{"type":"text","text":"Be kind."}]},{"role":"user","content":"c"},{"role":"user","content":[{"type":"text","text":" d"},{"type":"text","text":"e "}]}]}`)))(t)
	if c.Instructions != "Be brief.\n\nBe kind." || c.Last != "de" || len(c.Past) != 3 || c.Past[2].Text != "c" {
		t.Errorf("%+v", c)
	}
	if got, want := c.Context(), "Be brief.\n\nBe kind.\n\nSaid before in this session:\nUser: a\nText: b\nUser: c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestALongPastIsToldByItsEnd(t *testing.T) {
	r := &verb.ChatRequest{Model: "m"}
	for range 40 {
		text, _ := json.Marshal(strings.Repeat("日", 2000)) // Strings can always be encoded.
		r.Messages = append(r.Messages, verb.ChatMessage{Role: "user", Content: text})
	}
	r.Messages = append(r.Messages, verb.ChatMessage{Role: "assistant", Content: json.RawMessage(`"the last"`)}, verb.ChatMessage{Role: "user", Content: json.RawMessage(`"go"`)})
	c := musttest.Get(openai.Read(r))(t)
	if got := c.Context(); len(got) > 40<<10 || !strings.HasSuffix(got, "the last") || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%d bytes, ends with %q", len(got), got[len(got)-20:])
	}
}

func TestWhatCannotBeDoneIsRefusedByName(t *testing.T) {
	const messages = `,"messages":[{"role":"user","content":"a"}]`
	for text, field := range map[string]string{
		`{"messages":[]}`:                                                                             "model",
		`{"model":"m","messages":[]}`:                                                                 "messages",
		`{"model":"m","n":2` + messages + `}`:                                                         "n",
		`{"model":"m","tools":[{}]` + messages + `}`:                                                  "tools",
		`{"model":"m","functions":[{}]` + messages + `}`:                                              "functions",
		`{"model":"m","response_format":{"type":"json_schema"}` + messages + `}`:                      "response_format",
		`{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`: "messages",
		`{"model":"m","messages":[{"role":"user","content":"  "}]}`:                                   "messages",
		`{"model":"m","messages":[{"role":"tool","content":"a"}]}`:                                    "messages[0].role",
		`{"model":"m","messages":[{"role":"user","content":7}]}`:                                      "messages[0].content",
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`:                 "messages[0].content",
	} {
		_, err := openai.Read(request(t, text))
		var fault *events.Fault
		if !errors.As(err, &fault) || fault.Field != field || fault.Hint == "" {
			t.Errorf("%s: %v, want a fault of %s", text, err, field)
		}
	}
	if _, err := openai.Read(request(t, `{"model":"m","n":1,"temperature":2,"tools":[],"response_format":{"type":"text"}`+messages+`}`)); err != nil {
		t.Error(err)
	}
}

// A conversation stays the same if clients change its messages as they usually do on the way; any other change makes it a different
// one.
func TestAConversationIsKnownByWhatWasSaid(t *testing.T) {
	said := []openai.Message{{Role: "user", Text: "a"}, {Role: "assistant", Text: "b\nc"}}
	same := []openai.Message{{Role: "user", Text: " a\n"}, {Role: "assistant", Text: "b\r\nc  "}}
	want := openai.Digest("o", said)
	if got := openai.Digest("o", same); got != want {
		t.Error("white space matters")
	}
	if got := openai.Digest("o", said[:1], openai.Answered("b\nc")); got != want {
		t.Error("the last message counts otherwise")
	}
	for name, other := range map[string]string{
		"owner": openai.Digest("p", said), "shorter": openai.Digest("o", said[:1]), "order": openai.Digest("o", []openai.Message{said[1], said[0]}),
		"bounds": openai.Digest("o", []openai.Message{{Role: "user", Text: "ab"}, {Role: "assistant", Text: "\nc"}}),
	} {
		if other == want {
			t.Errorf("%s does not matter", name)
		}
	}
}

func TestFaultsHaveTheFormOfTheAPI(t *testing.T) {
	got := string(openai.Fault(404, &events.Fault{Code: events.CodeNotFound, Field: "model", Message: "there is no model x", Hint: "list them"}))
	if want := `{"error":{"message":"there is no model x → list them","type":"invalid_request_error","param":"model","code":"model_not_found"}}`; got != want {
		t.Error(got)
	}
	for status, want := range map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 503: "server_error"} {
		if got := string(openai.Fault(status, &events.Fault{Code: "c", Message: "m", Cause: "why"})); !strings.Contains(got, `"type":"`+want+`","param":null,"code":"c"`) || !strings.Contains(got, "m: why") {
			t.Errorf("%d: %s", status, got)
		}
	}
}
