package legacy

import (
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"
)

// request is a request of JSON-RPC.
type request struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitempty"`
	ID      string `json:"id"`
}

// response is an answer of JSON-RPC, whole or as the data of one event.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      string          `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *fault          `json:"error"`
}

// fault is an error of JSON-RPC.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	// Data may be anything.
	Data json.RawMessage `json:"data"`
}

// causes maps codes to the errors of spec 1.0.
var causes = map[int]error{
	-32700: a2a.ErrParseError,
	-32600: a2a.ErrInvalidRequest,
	-32601: a2a.ErrMethodNotFound,
	-32602: a2a.ErrInvalidParams,
	-32603: a2a.ErrInternalError,
	-32000: a2a.ErrServerError,
	-32001: a2a.ErrTaskNotFound,
	-32002: a2a.ErrTaskNotCancelable,
	-32003: a2a.ErrPushNotificationNotSupported,
	-32004: a2a.ErrUnsupportedOperation,
	-32005: a2a.ErrUnsupportedContentType,
	-32006: a2a.ErrInvalidAgentResponse,
	-32007: a2a.ErrExtendedCardNotConfigured,
	-32008: a2a.ErrExtensionSupportRequired,
	-32009: a2a.ErrVersionNotSupported,
	-31401: a2a.ErrUnauthenticated,
	-31403: a2a.ErrUnauthorized,
}

// unwrap returns the result of an answer, or its error as an [a2a.Error].
func (r *response) unwrap() (json.RawMessage, error) {
	if r.Error == nil {
		return r.Result, nil
	}
	cause := causes[r.Error.Code]
	if cause == nil {
		cause = a2a.ErrInternalError
	}
	message := r.Error.Message
	if message == "" {
		message = cause.Error()
	}
	return nil, &a2a.Error{Err: cause, Message: message, Details: details(r.Error.Data)}
}

// details reads the data of an error: an object, or the first object of a list that says more than the kind of error.
func details(data json.RawMessage) map[string]any {
	var object map[string]any
	if json.Unmarshal(data, &object) == nil {
		return object
	}
	var list []errordetails.Typed
	if json.Unmarshal(data, &list) != nil {
		return nil
	}
	for _, d := range list {
		if d.TypeURL != errordetails.ErrorInfoType {
			return d.Value
		}
	}
	return nil
}
