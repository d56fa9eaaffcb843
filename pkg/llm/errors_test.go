package llm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

func TestWhatProvidersSayIsClassed(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   llm.Class
	}{
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`, llm.ContextTooLong},
		{400, `{"error":{"message":"prompt is too long: 250000 tokens > 200000 maximum","type":"invalid_request_error"}}`, llm.ContextTooLong},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, llm.ContextTooLong},
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","code":40303}`, llm.ContextTooLong},
		{413, `{"error":{"message":"Request too large"}}`, llm.BadRequest},
		{400, `{"error":{"code":"content_filter","message":"filtered","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.Filtered},
		{400, `{"error":{"code":null,"message":"blocked","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.Filtered},
		{403, `{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged"}}`, llm.Filtered},
		{401, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`, llm.Auth},
		{401, `rate limit`, llm.Auth},
		{403, `{"error":{"message":"rejected"}}`, llm.Auth},
		{402, `{"error":{"message":"Insufficient credits"}}`, llm.Quota},
		{429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, llm.Quota},
		{429, `{"error":{"message":"Rate limit reached for tokens"}}`, llm.RateLimited},
		{429, ``, llm.RateLimited},
		{400, `[{"error":{"code":400,"message":"bad argument","status":"INVALID_ARGUMENT"}}]`, llm.BadRequest},
		{404, `{"error":{"message":"The model gpt-x does not exist","code":"model_not_found"}}`, llm.NotFound},
		{400, `{"error":{"message":"nope is not a valid model ID","code":400}}`, llm.NotFound},
		{404, `404 page not found`, llm.NotFound},
		{422, `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`, llm.BadRequest},
		{400, `{"detail":"bad"}`, llm.BadRequest},
		{400, `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<look>"}}`, llm.Malformed},
		{400, `{"error":{"message":"Failed to generate JSON.","code":"json_validate_failed","failed_generation":"{"}}`, llm.Malformed},
		{400, `{"error":{"message":"Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.","type":"invalid_request_error"}}`, llm.LengthCut},
		{400, `{"error":{"message":"max completion tokens reached before generating a valid document","code":"json_validate_failed","failed_generation":""}}`, llm.LengthCut},
		{503, `{"error":{"message":"no healthy upstream"}}`, llm.Overloaded},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Overloaded},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0: text content blocks must be non-empty"}}`, llm.BadRequest},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 190000 + 20000 > 200000"}}`, llm.ContextTooLong},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, llm.Quota},
		{401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, llm.Auth},
		{403, `{"type":"error","error":{"type":"permission_error","message":"not yours"}}`, llm.Auth},
		{404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}`, llm.NotFound},
		{413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, llm.ContextTooLong},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your limit"}}`, llm.RateLimited},
		{500, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, llm.Unavailable},
		{400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, llm.Auth},
		{400, `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`, llm.Auth},
		{400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, llm.ContextTooLong},
		{403, `{"error":{"code":403,"message":"denied","status":"PERMISSION_DENIED"}}`, llm.Auth},
		{404, `{"error":{"code":404,"message":"models/x is not found for API version v1beta","status":"NOT_FOUND"}}`, llm.NotFound},
		{499, `{"error":{"code":499,"message":"The operation was cancelled.","status":"CANCELLED"}}`, llm.Unavailable},
		{503, `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, llm.Overloaded},
		{504, `{"error":{"code":504,"message":"Deadline expired","status":"DEADLINE_EXCEEDED"}}`, llm.TimedOut},
		{500, `{"error":{"message":"The server is overloaded","type":"server_error"}}`, llm.Overloaded},
		{500, `{"error":{"message":"context length exceeded while handling your error"}}`, llm.Unavailable},
		{502, `<html>bad gateway</html>`, llm.Unavailable},
		{504, ``, llm.TimedOut},
		{418, `teapot`, llm.BadRequest},
		{304, ``, llm.Malformed},
	} {
		t.Run(fmt.Sprint(c.status, " ", c.body), func(t *testing.T) {
			body := c.body
			if body == "" {
				body = " "
			}
			server := llmtest.New(llmtest.Say(llmtest.Answer{Status: c.status, Body: body}))
			_, err := engine(t, server, noRetry(), nil).Do(t.Context(), ask("hi"), nil)
			if fail := class(t, err, c.want); fail.Status != c.status || fail.Message == "" {
				t.Errorf("status %d, message %q", fail.Status, fail.Message)
			}
		})
	}
}

func TestWhatARouterHandsThroughIsTold(t *testing.T) {
	server := llmtest.New(llmtest.Say(llmtest.Answer{Status: 400, Body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":\"too many tokens in prompt\"}"}}}`}))
	_, err := engine(t, server, noRetry(), nil).Do(t.Context(), ask("hi"), nil)
	if fail := class(t, err, llm.ContextTooLong); !strings.Contains(fail.Message, "too many tokens in prompt") {
		t.Error(fail.Message)
	}
	server = llmtest.New(llmtest.Say(llmtest.Answer{Status: 400, Body: `{"error":{"message":"Failed to call a function.","code":"tool_use_failed","failed_generation":"<look q=1>"}}`}))
	_, err = engine(t, server, noRetry(), nil).Do(t.Context(), ask("hi"), nil)
	if fail := class(t, err, llm.Malformed); !strings.Contains(fail.Message, "<look q=1>") {
		t.Errorf("what the model wrote is not told: %s", fail.Message)
	}
}

func TestAModelMayCorrectWhatItWroteAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		fail llm.Error
		want bool
	}{
		{llm.Error{Class: llm.Empty}, true},
		{llm.Error{Class: llm.Malformed, Partial: &llm.Response{}}, true},
		{llm.Error{Class: llm.Malformed, Status: 400}, true},
		{llm.Error{Class: llm.Malformed, Status: 200}, false},
		{llm.Error{Class: llm.StreamCut, Partial: &llm.Response{}}, false},
		{llm.Error{Class: llm.BadRequest, Status: 400}, false},
	} {
		if got := c.fail.Garbled(); got != c.want {
			t.Errorf("%s with status %d: %t, want %t", c.fail.Class, c.fail.Status, got, c.want)
		}
	}
}

func TestTheFirstRejectionIsToldWhenAvoidingItIsRejected(t *testing.T) {
	server := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		if strings.Contains(string(q.Body), `"temperature"`) {
			return llmtest.Answer{Status: 400, Error: "temperature is not supported"}, nil
		}
		return llmtest.Answer{Status: 400, Error: "something is missing now"}, nil
	}))
	warm := 0.5
	r := ask("hi")
	r.Temperature = &warm
	_, err := engine(t, server, noRetry(), nil).Do(t.Context(), r, nil)
	if fail := class(t, err, llm.BadRequest); !strings.Contains(fail.Message, "temperature") || len(server.Asked()) != 2 {
		t.Errorf("%d requests: %v", len(server.Asked()), err)
	}
}

func TestEveryClassMapsToACodeAndAnOutcome(t *testing.T) {
	for class, want := range map[llm.Class]events.Code{
		llm.RateLimited: events.CodeUnavailable, llm.Overloaded: events.CodeUnavailable, llm.Unavailable: events.CodeUnavailable,
		llm.TimedOut: events.CodeTimeout, llm.StreamCut: events.CodeUnavailable, llm.ContextTooLong: events.CodeTooComplicated,
		llm.LengthCut: events.CodeTooLarge, llm.Filtered: events.CodeNotPermitted, llm.Refused: events.CodeNotPermitted,
		llm.Malformed: events.CodeMalformed, llm.Empty: events.CodeMalformed, llm.Auth: events.CodeNotPermitted,
		llm.Quota: events.CodeBudget, llm.NotFound: events.CodeNotFound, llm.BadRequest: events.CodeInvalid,
		llm.Cancelled: events.CodeCancelled,
	} {
		err := fmt.Errorf("draft the plan: %w", &llm.Error{Class: class, Model: "m", Message: "words", Status: 418})
		fault := llm.Fault(err)
		if fault.Code != want || fault.Cause != "words" || !strings.Contains(fault.Message, "model m") {
			t.Errorf("%s: %+v", class, fault)
		}
		outcome := events.ExecutionError
		if class == llm.ContextTooLong {
			outcome = events.TooComplicated
		}
		if got := llm.Outcome(err); got != outcome {
			t.Errorf("%s: outcome %s, want %s", class, got, outcome)
		}
	}
	if llm.Outcome(nil) != events.Success || llm.ClassOf(context.Canceled) != llm.Cancelled || llm.ClassOf(errors.New("x")) != llm.Unavailable {
		t.Error("errors of others are classed wrongly")
	}
}

func TestKeysAreNeverShown(t *testing.T) {
	secret := llm.Secret("my-very-own-key-without-form")
	config := llm.ModelConfig{Key: secret}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("model", "key", secret, "config", config)
	asJSON := musttest.JSON(t, config)
	asYAML := musttest.Get(yaml.Marshal(config))(t)
	for _, shown := range []string{
		fmt.Sprint(secret), fmt.Sprintf("%v %+v %#v %s %q", config, config, config, secret, secret), log.String(), string(asJSON), string(asYAML),
		llm.Mask("a my-very-own-key-without-form b", redact.New(string(secret))),
	} {
		if strings.Contains(shown, "very-own") {
			t.Errorf("shows the key: %s", shown)
		}
	}
	for text, want := range map[string]string{
		"Incorrect API key provided: sk-proj-abc***********xyz. Find yours": "Incorrect API key provided: ******** Find yours",
		"sent Authorization: Bearer abc.def-123, refused":                   "sent Authorization: ********, refused",
		"gsk_0123456789abcdef and AIzaSyA0123456789012345678901234567890":   "******** and ********",
		"the task-oriented sky is key to disk-based risk_assessment":        "the task-oriented sky is key to disk-based risk_assessment",
	} {
		if got := llm.Mask(text, nil); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestErrorsOfTheProviderShowNoKey(t *testing.T) {
	for _, answer := range []llmtest.Answer{
		{Status: 401, Error: "Incorrect API key provided: " + key, Code: key, Param: key},
		{Body: "<html>" + key + "</html>", Type: "text/html"},
		{Body: `{"error":{"message":"` + key + `"}}`},
		{Text: "x", Finish: "error " + key},
		{Refusal: "I will not tell " + key},
	} {
		_, err := engine(t, llmtest.New(llmtest.Say(answer)), noRetry(), nil).Do(t.Context(), ask("hi"), nil)
		if answer.Text != "" {
			continue // An unknown reason is a good end.
		}
		var fail *llm.Error
		if !errors.As(err, &fail) || strings.Contains(fmt.Sprintf("%v %+v %+v", err, *fail, llm.Fault(err)), key) {
			t.Errorf("%+v", fail)
		}
	}
}

func TestALongMessageIsCutBetweenLetters(t *testing.T) {
	server := llmtest.New(llmtest.Say(llmtest.Answer{Status: 400, Body: strings.Repeat("错", 5000) + "\xff"}))
	_, err := engine(t, server, noRetry(), nil).Do(t.Context(), ask("hi"), nil)
	fail := class(t, err, llm.BadRequest)
	if len(fail.Message) > 2003 || strings.Trim(fail.Message, "错") != "…" {
		t.Errorf("%d bytes: %q", len(fail.Message), fail.Message[len(fail.Message)-10:])
	}
}

func TestAKeyAcrossTheCutOfALongMessageIsNotShown(t *testing.T) {
	own, none := llm.Secret(strings.Repeat("plainkey", 25)), 0
	for shift := range 3 {
		body := "{" + strings.Repeat(" ", 100*shift) + strings.Repeat(string(own), 300)
		server := llmtest.New(llmtest.Say(llmtest.Answer{Body: body}))
		e := engine(t, server, single(func(m *llm.ModelConfig) { m.Key, m.Retries = own, &none }), nil)
		_, err := e.Do(t.Context(), ask("hi"), nil)
		if class(t, err, llm.Malformed); strings.Contains(err.Error(), "plainkey") {
			t.Errorf("%d: %q", shift, err.Error())
		}
	}
}

func TestAConfigurationIsReadFromYAMLAndJudgedWithEveryFault(t *testing.T) {
	good := `
default: {model: gpt-x, key: k, timeout: 90s, retries: 0, temperature: 0, limits: {concurrency: 2, requests_per_minute: 60, tokens_per_minute: 9000},
  price: {prompt: 1.5, cached: 0.1, completion: 6}, fallback: [local], fallback_on: [overloaded, refusal]}
local: {base_url: "http://localhost:11434/v1", api: chat, structured: json_object, open_think: true, idle: 10s, max_wait: 1m,
  headers: {X-A: b}, extra: {top_k: 5}, max_tokens: 5, effort: low, send_metadata: true}
`
	var config llm.Config
	decoder := yaml.NewDecoder(strings.NewReader(good))
	decoder.KnownFields(true)
	musttest.Do(t, decoder.Decode(&config))
	if err := config.Validate(); err != nil || config["default"].Timeout != 90*time.Second || *config["default"].Retries != 0 {
		t.Errorf("%+v, %v", config, err)
	}
	minus, hot := -1, 2.5
	bad := llm.Config{
		"a": {
			BaseURL: "localhost:80", API: "soap", Structured: "xml", Temperature: &hot, MaxTokens: -1, Timeout: -1, Idle: -1, MaxWait: -1,
			Retries: &minus, Limits: llm.RateLimits{Concurrency: -1, RequestsPerMinute: -1, TokensPerMinute: -1},
			Price: &llm.Price{Prompt: -1, Completion: -1, Cached: &[]float64{-1}[0]}, Fallback: []string{"a", "b", "c"},
			FallbackOn: []llm.Class{"boredom"}, Headers: map[string]string{"authorization": "x"},
		},
		"b": {BaseURL: "https://user:pass@host/v1"},
	}
	var faults events.Faults
	if !errors.As(bad.Validate(), &faults) {
		t.Fatal("no faults")
	}
	var fields []string
	for _, fault := range faults {
		fields = append(fields, fault.Field)
	}
	want := strings.Fields(`a.base_url a.api a.structured a.temperature a.max_tokens a.timeout a.idle a.max_wait a.retries
		a.limits.concurrency a.limits.requests_per_minute a.limits.tokens_per_minute a.price.prompt a.price.completion a.price.cached
		a.fallback[0] a.fallback[2] a.fallback_on[0] a.headers b.base_url`)
	musttest.Equal(t, want, fields)
	if !strings.Contains(faults[0].Hint, "OPENAI_BASE_URL") {
		t.Errorf("the fault of an address does not say how to write it: %q", faults[0].Hint)
	}
	if strings.Contains(faults.Error(), "pass") && strings.Contains(faults.Error(), "user:") {
		t.Error("a fault shows the password:", faults)
	}
}
