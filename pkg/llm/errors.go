package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Class is a class of errors; callers branch on it.
type Class string

// The classes of errors.
const (
	RateLimited    Class = "rate_limited"     // Too many requests or tokens; wait.
	Overloaded     Class = "overloaded"       // The provider has no capacity; wait.
	Unavailable    Class = "unavailable"      // The provider could not be reached, or failed.
	TimedOut       Class = "timeout"          // The call exceeded its time limit.
	StreamCut      Class = "stream_cut"       // The answer broke off before the provider ended it.
	ContextTooLong Class = "context_too_long" // The prompt does not fit the model.
	LengthCut      Class = "length"           // The answer reached its token limit.
	Filtered       Class = "content_filter"   // The provider's filter withheld the answer.
	Refused        Class = "refusal"          // The model declined.
	Malformed      Class = "malformed"        // The provider's answer cannot be understood.
	Empty          Class = "empty"            // A complete answer without text and calls.
	Auth           Class = "auth"             // The key is missing, wrong, or may not use the model.
	Quota          Class = "quota"            // The account has run out of credit.
	NotFound       Class = "not_found"        // No such model or address.
	BadRequest     Class = "bad_request"      // The provider rejects the request as it is.
	Cancelled      Class = "cancelled"        // The caller cancelled.
)

// classes lists every class with the events.Code that reports it. A refusal has a code that is not retried: the same answer would
// be paid for again.
var classes = map[Class]events.Code{
	RateLimited: events.CodeUnavailable, Overloaded: events.CodeUnavailable, Unavailable: events.CodeUnavailable,
	TimedOut: events.CodeTimeout, StreamCut: events.CodeUnavailable, ContextTooLong: events.CodeTooComplicated,
	LengthCut: events.CodeTooLarge, Filtered: events.CodeNotPermitted, Refused: events.CodeNotPermitted,
	Malformed: events.CodeMalformed, Empty: events.CodeMalformed, Auth: events.CodeNotPermitted,
	Quota: events.CodeBudget, NotFound: events.CodeNotFound, BadRequest: events.CodeInvalid,
	Cancelled: events.CodeCancelled,
}

// hints say what to do next, where that is known.
var hints = map[Class]string{
	RateLimited:    "raise the provider's limit, lower the model's limits, or configure a fallback",
	Overloaded:     "configure a fallback model",
	Unavailable:    "check base_url and the network, or configure a fallback",
	ContextTooLong: "shorten the input, split the work, or use a model with a larger context",
	TimedOut:       "raise the model's idle or timeout, see to its provider, or use a faster model",
	StreamCut:      "try again; when it goes on, check the network to the provider",
	Malformed:      "check base_url: what answers there does not speak the API of a model",
	Empty:          "try again, or use another model",
	BadRequest:     "check the model's settings: `jobgraph model check` says whether it can call tools and fill forms",
	LengthCut:      "raise max_tokens, or ask for less",
	Filtered:       "ask for something else, say what it is for, or name content_filter in fallback_on of the model",
	Refused:        "ask for something else, say what it is for, or name refusal in fallback_on of the model",
	Auth:           "check the key of this model",
	Quota:          "check the account's credit, or configure a fallback",
	NotFound:       "check base_url and the model's name",
}

// Error is why a call has no answer. It never contains a key.
type Error struct {
	// Class is what callers branch on.
	Class Class
	// Message says what happened, in the provider's words if it gave any.
	Message string
	// Model is the configured name.
	Model string
	// Status is the HTTP status, 0 if there was none.
	Status int
	// Code and Param are the provider's own code and the parameter it names.
	Code, Param string
	// RequestID is the provider's id of the request, for its support; empty if it gave none.
	RequestID string
	// Attempts counts the requests that were sent.
	Attempts int
	// RetryAfter is the time after which a new call may succeed; the caller could not wait that long. 0 if unknown.
	RetryAfter time.Duration
	// Partial is the part of the answer that arrived, or nil.
	Partial *Response
	// cause is a context's error, for errors.Is; SDK errors are not exposed.
	cause error
	// retry is the provider's x-should-retry, which overrides our decision: 1 yes, -1 no, 0 not given.
	retry int
	// unsent is true if the SDK rejected the request before sending it.
	unsent bool
	// slow is true if an attempt used up its time: its time limit, or the limit of silence.
	slow bool
	// wrong is true if the provider says that what the model wrote cannot be read, wherever it says so.
	wrong bool
}

// Error returns class, model and message on one line.
func (e *Error) Error() string { return e.text(": " + strings.ReplaceAll(string(e.Class), "_", " ")) }

// Detail is like Error, without the class: for a text that has already said in plain words what happened.
func (e *Error) Detail() string { return e.text("") }

// text returns the model, the class in words and the message.
func (e *Error) text(class string) string {
	var b strings.Builder
	b.WriteString("model")
	if e.Model != "" {
		b.WriteString(" " + e.Model)
	}
	b.WriteString(class)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (status %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.RequestID != "" {
		b.WriteString(" (request " + e.RequestID + ")")
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, "; retry after %s", e.RetryAfter)
	}
	return b.String()
}

// Unwrap returns the context's error behind a timeout or a cancellation.
func (e *Error) Unwrap() error { return e.cause }

// Passing reports whether the same call may succeed later without any change.
func (e *Error) Passing() bool {
	switch e.Class {
	case RateLimited, Overloaded, Unavailable, TimedOut, StreamCut:
		return true
	}
	return false
}

// Garbled reports whether the provider has answered and the model's text is at fault: it is empty, or cannot be read as the
// requested call or JSON. Another answer may help, if the model is told why.
func (e *Error) Garbled() bool {
	return e.Class == Empty || e.Class == Malformed && (e.wrong || e.Partial != nil || e.Status == http.StatusBadRequest)
}

// ClassOf returns the class of any error of this package, Unavailable for others.
func ClassOf(err error) Class {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Class
	case errors.Is(err, context.Canceled):
		return Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	}
	return Unavailable
}

// Outcome returns the outcome of a SubJob whose call failed: a prompt that does not fit asks for a split, everything else
// is an execution error.
func Outcome(err error) events.Outcome {
	switch {
	case err == nil:
		return events.Success
	case ClassOf(err) == ContextTooLong:
		return events.TooComplicated
	}
	return events.ExecutionError
}

// Fault converts the error to the form that events, replies and the command line share.
func Fault(err error) events.Fault {
	class := ClassOf(err)
	fault := events.Fault{Code: classes[class], Message: err.Error(), Hint: hints[class]}
	var e *Error
	if errors.As(err, &e) {
		e = &Error{Class: e.Class, Model: e.Model, Status: e.Status, RetryAfter: e.RetryAfter, Message: e.Message, RequestID: e.RequestID}
		fault.Cause, e.Message = e.Message, ""
		fault.Message = e.Error()
	}
	return fault
}
