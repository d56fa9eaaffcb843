package verb

import (
	"net/http"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// statuses maps fault codes to HTTP statuses.
var statuses = map[events.Code]int{
	events.CodeMalformed: http.StatusBadRequest, events.CodeUnknownField: http.StatusBadRequest, events.CodeInvalid: http.StatusBadRequest,
	events.CodeMissing: http.StatusBadRequest, events.CodeTooLarge: http.StatusRequestEntityTooLarge,
	events.CodeUnauthenticated: http.StatusUnauthorized, events.CodeNotPermitted: http.StatusForbidden, events.CodeTooMany: http.StatusTooManyRequests,
	events.CodeNotFound: http.StatusNotFound, events.CodeMissingBlob: http.StatusGone, events.CodeConflict: http.StatusConflict,
	events.CodeDuplicateID: http.StatusUnprocessableEntity, events.CodeCycle: http.StatusUnprocessableEntity, events.CodeDangling: http.StatusUnprocessableEntity,
	events.CodeUnknownExpert: http.StatusUnprocessableEntity, events.CodeHiddenExpert: http.StatusUnprocessableEntity,
	events.CodeNoPlanner: http.StatusUnprocessableEntity, events.CodeRejected: http.StatusUnprocessableEntity, events.CodeExecution: http.StatusUnprocessableEntity,
	events.CodeInputData: http.StatusUnprocessableEntity, events.CodeTooComplicated: http.StatusUnprocessableEntity, events.CodeLifeCycle: http.StatusUnprocessableEntity,
	events.CodeInputRounds: http.StatusUnprocessableEntity, events.CodeUnreachableAfter: http.StatusUnprocessableEntity, events.CodeMissingContext: http.StatusUnprocessableEntity,
	events.CodeGuidance: http.StatusUnprocessableEntity, events.CodeReused: http.StatusUnprocessableEntity,
	events.CodeCancelled: http.StatusConflict, events.CodeFailedByHand: http.StatusConflict, events.CodeBudget: http.StatusTooManyRequests,
	events.CodeDeadline: http.StatusGatewayTimeout, events.CodeTimeout: http.StatusGatewayTimeout, events.CodeUnavailable: http.StatusServiceUnavailable,
	events.CodeMustUnderstand: http.StatusNotImplemented, events.CodeSkippable: http.StatusNotImplemented, events.CodeInternal: http.StatusInternalServerError,
}

// Status returns the HTTP status for a fault code: 500 if the table lacks it.
func Status(code events.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}
