package incarnation

import (
	"strconv"
	"strings"
)

// mark separates the id of a job from its incarnation.
const mark = "@"

// ID identifies a job among jobs with the same id: requested is the sequence of its job.requested. Message ids contain it; otherwise a
// reused id would get no work, no report and no end within the deduplication window.
func ID(job string, requested uint64) string {
	return job + mark + strconv.FormatUint(requested, 10)
}

// Of returns the sequence of the request of a job that a message id, report id or idempotency key names, as in "<job>@<sequence>/…"; 0
// if it names none.
func Of(id, job string) uint64 {
	rest, ok := strings.CutPrefix(id, job)
	if !ok {
		return 0
	}
	rest, ok = strings.CutPrefix(rest, mark)
	digits, _, named := strings.Cut(rest, "/")
	requested, err := strconv.ParseUint(digits, 10, 64)
	if !ok || !named || err != nil {
		return 0
	}
	return requested
}
