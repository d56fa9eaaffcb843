package llm

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// saying is a provider's description of an error, in whatever form it comes.
type saying struct {
	code, kind, param, message string
	// status is a status inside the body, for errors that are sent under 200.
	status int
	// after is when to try again, request the provider's id of the request.
	after   time.Duration
	request string
	// daily is true if a limit for the day is used up.
	daily bool
}

// listen parses {"error": {...}}, {"error": "…"}, {"detail": …}, {"message": …}, a bare error object, a string, a list of
// one of these, or plain text.
func listen(body []byte) saying { return listenTo(body, maxDepth) }

// listenTo also parses error objects nested inside each other, up to a number of levels.
func listenTo(body []byte, levels int) saying {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var text string
	if json.Unmarshal(body, &text) == nil {
		return saying{message: text}
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return saying{message: string(body)}
	}
	if inner := present(object["error"]); inner != nil && levels > 0 {
		var text string
		if json.Unmarshal(inner, &text) != nil {
			s := listenTo(inner, levels-1)
			s.request = cmp.Or(wordOf(object["request_id"]), s.request)
			return s
		}
		object["message"] = inner
	}
	s := saying{
		code: wordOf(object["code"]), kind: wordOf(object["type"]), param: wordOf(object["param"]), message: textOf(object["message"]),
	}
	if s.message == "" {
		s.message = textOf(object["detail"])
	}
	if s.message == "" {
		s.message = string(body)
	}
	if n, err := strconv.Atoi(s.code); err == nil && n >= 100 && n < 600 {
		s.status = n
	}
	if status := wordOf(object["status"]); s.kind == "" && s.status != 0 {
		s.kind = status // Google's own word for the status.
	}
	return s.deeper(object).detailed(object["details"])
}

// detailed adds Google's details: when to try again, and whether a limit for the day is used up.
func (s saying) detailed(raw json.RawMessage) saying {
	var details []struct {
		Reason     word `json:"reason"`
		RetryDelay word `json:"retryDelay"`
		Violations []struct {
			Quota word `json:"quotaId"`
		} `json:"violations"`
	}
	if raw == nil || json.Unmarshal(raw, &details) != nil {
		return s
	}
	for _, detail := range details {
		if wait, err := time.ParseDuration(string(detail.RetryDelay)); err == nil && wait > 0 {
			s.after = min(wait, 24*time.Hour)
		}
		if detail.Reason != "" {
			s.kind += " " + string(detail.Reason)
		}
		for _, violation := range detail.Violations {
			s.daily = s.daily || strings.Contains(string(violation.Quota), "PerDay")
		}
	}
	return s
}

// deeper adds what a gateway passes on from the provider behind it, what a model wrote that its provider could not read, and
// Azure's inner code.
func (s saying) deeper(object map[string]json.RawMessage) saying {
	var metadata struct {
		Raw json.RawMessage `json:"raw"`
	}
	if raw := object["metadata"]; raw != nil && json.Unmarshal(raw, &metadata) == nil && metadata.Raw != nil {
		s.message += ": " + textOf(metadata.Raw)
	}
	if wrote := textOf(object["failed_generation"]); wrote != "" {
		s.message += ": " + wrote
	}
	var inner struct {
		Code word `json:"code"`
	}
	if raw := object["innererror"]; raw != nil && json.Unmarshal(raw, &inner) == nil && inner.Code != "" {
		s.kind += " " + string(inner.Code)
	}
	return s
}

func wordOf(raw json.RawMessage) string {
	var w word
	_ = json.Unmarshal(raw, &w) // A value that cannot be parsed counts as empty.
	return string(w)
}

// textOf returns the value of a string, or any other value as JSON.
func textOf(raw json.RawMessage) string {
	var text string
	if raw == nil || string(raw) == "null" || json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// phrases are providers' wordings that determine the class if status and code do not. They are matched in lower case.
var phrases = []struct {
	class Class
	any   []string
}{
	{LengthCut, []string{"max completion tokens reached", "max_tokens or model output limit was reached", "maximum output tokens reached"}},
	{Malformed, []string{"tool_use_failed", "json_validate_failed"}}, // The provider could not read what the model wrote as the requested call or JSON.
	{ContextTooLong, []string{
		"context_length", "context length", "context window", "context size", "context_window", "prompt is too long",
		"input is too long", "too many tokens", "input tokens exceed", "reduce the length", "string_above_max_length",
		"maximum number of tokens", "exceeds the maximum number of input", "exceed context limit", "request_too_large",
	}},
	{Filtered, []string{
		"content_filter", "content_policy", "content policy", "content management policy", "responsibleaipolicy",
		"moderation_blocked", "flagged by", "requires moderation", "safety system", "data_inspection_failed",
	}},
	{Quota, []string{"insufficient_quota", "insufficient_credits", "insufficient credits", "insufficient balance", "billing_hard_limit", "exceeded your current quota", "credit balance is too low", "billing_error"}},
	{NotFound, []string{"model_not_found", "model does not exist", "no such model", "not a valid model", "not_found_error"}},
	{Auth, []string{"invalid_api_key", "authentication_error", "permission_error", "permission_denied", "api key not valid", "api_key_invalid", "api key expired", "user location is not supported"}},
	{RateLimited, []string{"rate_limit", "rate limit", "too many requests", "resource_exhausted"}},
	{Overloaded, []string{"overloaded", "over capacity", "no capacity", "insufficient_system_resource"}},
}

// byStatus maps statuses that determine the class alone.
var byStatus = map[int]Class{
	http.StatusUnauthorized: Auth, http.StatusForbidden: Auth, http.StatusPaymentRequired: Quota,
	http.StatusNotFound: NotFound, http.StatusRequestTimeout: TimedOut, http.StatusConflict: Unavailable,
	http.StatusTooManyRequests: RateLimited, http.StatusServiceUnavailable: Overloaded, 529: Overloaded,
	http.StatusGatewayTimeout: TimedOut, 499: Unavailable,
}

// classify determines the class of an error. Phrases take precedence over the status only where they can be trusted: a 5xx
// is never about the prompt, a 401 always about the key.
func classify(status int, s saying) Class {
	if status < 400 {
		status = s.status
	}
	class, known := byStatus[status]
	switch {
	case status == http.StatusTooManyRequests && s.after > 0 && !s.daily:
		return RateLimited // Even if it mentions quotas: they fill up again.
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired, status == http.StatusRequestTimeout:
		return class
	case status >= 500:
		if !known {
			class = Unavailable
		}
		if told, ok := spokenClass(s); ok && told == Overloaded {
			return told
		}
		return class
	}
	if told, ok := spokenClass(s); ok && (!known || told != Auth) {
		return told
	}
	switch {
	case known:
		return class
	case status >= 400 || strings.Contains(s.kind, "invalid_request"):
		return BadRequest
	}
	return Unavailable
}

func spokenClass(s saying) (Class, bool) {
	all := strings.ToLower(s.code + " " + s.kind + " " + s.message)
	for _, row := range phrases {
		for _, phrase := range row.any {
			if strings.Contains(all, phrase) {
				return row.class, true
			}
		}
	}
	return "", false
}
