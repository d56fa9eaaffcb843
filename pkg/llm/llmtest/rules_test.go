package llmtest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// posted returns the status and body of the answer to a raw request.
func posted(t *testing.T, path, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Anthropic-Version", "2023-06-01")
	seen := httptest.NewRecorder()
	llmtest.New(llmtest.Planner{}).ServeHTTP(seen, r)
	data := musttest.Get(io.ReadAll(seen.Body))(t)
	return seen.Code, string(data)
}

// The scripted model rejects what the real one would reject, so that a test with it says something about the real one.
func TestRequestsAreHeldAgainstTheRulesOfTheirProvider(t *testing.T) {
	anthropic := func(rest, messages string) string {
		return `{"model":"m","max_tokens":9,` + rest + `"messages":[` + messages + `]}`
	}
	const (
		hi     = `{"role":"user","content":"hi"}`
		call   = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"look","input":{}}]}`
		result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`
		tools  = `"tools":[{"name":"look","input_schema":{"type":"object"}}],`
	)
	for _, c := range []struct{ body, want string }{
		{anthropic("", hi), ""},
		{anthropic(tools, hi+","+call+","+result), ""},
		{`{"model":"m","messages":[` + hi + `]}`, "max_tokens: Field required"},
		{anthropic("", ""), "at least one message is required"},
		{anthropic("", `{"role":"assistant","content":"hi"}`), "first message must use"},
		{anthropic("", hi+`,{"role":"tool","content":"x"}`), "Input should be 'user' or 'assistant'"},
		{anthropic("", `{"role":"user","content":" "}`), "text content blocks must be non-empty"},
		{anthropic("", `{"role":"user","content":[]}`), "non-empty content"},
		{anthropic(tools, hi+","+call+","+hi), "without `tool_result` blocks"},
		{anthropic(tools, hi+","+result), "unexpected `tool_use_id`"},
		{anthropic("", hi+","+call+","+result), "must define tools"},
		{anthropic(tools+`"thinking":{"type":"adaptive"},"tool_choice":{"type":"any"},`, hi), "Thinking may not be enabled"},
		{anthropic("", hi+`,{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"forged"}]},`+hi), "Invalid `signature`"},
	} {
		status, body := posted(t, "/v1/messages", c.body)
		if (status == http.StatusOK) != (c.want == "") || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want %q", c.body, status, body, c.want)
		}
	}
	const (
		said    = `{"role":"user","parts":[{"text":"hi"}]}`
		asks    = `{"role":"model","parts":[{"functionCall":{"name":"look","args":{}},"thoughtSignature":"c2ln"}]}`
		answers = `{"role":"user","parts":[{"functionResponse":{"name":"look","response":{"output":"x"}}}]}`
	)
	for contents, want := range map[string]string{
		said:                              "",
		said + "," + asks + "," + answers: "",
		"":                                "contents is not specified",
		`{"role":"assistant","parts":[{"text":"x"}]}`: "valid role: user, model",
		`{"role":"user","parts":[]}`:                  "must not be empty",
		`{"role":"user","parts":[{}]}`:                "required oneof field",
		said + "," + asks + "," + said:                "number of function response parts",
		said + "," + answers:                          "number of function response parts",
		said + `,{"role":"model","parts":[{"functionCall":{"name":"look"}}]},` + answers: "missing a thought_signature",
	} {
		status, body := posted(t, "/v1beta/models/gemini-3-pro:generateContent", `{"contents":[`+contents+`]}`)
		if (status == http.StatusOK) != (want == "") || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %q", contents, status, body, want)
		}
	}
}
