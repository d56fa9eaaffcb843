package openai

import (
	"encoding/json"
	"net/http"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// problem is a fault in the form of OpenAI's API.
type problem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// Fault is a fault with its HTTP status in the form of OpenAI's API: {"error":{…}}.
func Fault(status int, f *events.Fault) []byte {
	p := problem{Message: f.Message, Type: kindOf(status), Code: string(f.Code)}
	if f.Code == events.CodeNotFound && f.Field == "model" {
		p.Code = "model_not_found" // Clients look for this code.
	}
	if f.Cause != "" {
		p.Message += ": " + f.Cause
	}
	if f.Hint != "" {
		p.Message += " → " + f.Hint
	}
	if f.Field != "" {
		p.Param = &f.Field
	}
	text, _ := json.Marshal(map[string]problem{"error": p}) // Strings can always be encoded.
	return text
}

// kindOf returns the type of an error for a status.
func kindOf(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= http.StatusInternalServerError:
		return "server_error"
	}
	return "invalid_request_error"
}
