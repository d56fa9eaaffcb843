package run

import (
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// ID is "<job>/<subjob>/<run>". With the job's incarnation in place of its id it is the idempotency_key and the report_id of the
// run, equal for every delivery.
func ID(job, subjob string, run int) string { return job + "/" + subjob + "/" + strconv.Itoa(run) }

// FactID is "<job>/<kind>/<key>": the message id of a fact of which a job has one per key. With an empty key it has one.
func FactID(job string, kind events.Kind, key string) string {
	if key == "" {
		return job + "/" + string(kind)
	}
	return job + "/" + string(kind) + "/" + key
}

// EventID is "<job>/<kind>/<subjob>/<run>": the message id of a fact about a run.
func EventID(job string, kind events.Kind, subjob string, run int) string {
	return FactID(job, kind, subjob+"/"+strconv.Itoa(run))
}

// issued stands for the kind in the message ids of work.
const issued events.Kind = "subjob.issued"

// WorkID is the message id of a run's work. incarnation tells a job from an earlier one with the same id.
func WorkID(incarnation, subjob string, run int) string {
	return EventID(incarnation, issued, subjob, run)
}

// CallKey is the idempotency key of one call within a run: the run's, and the call's own name within it.
func CallKey(key, call string) string { return key + "/" + call }

// ReportID is the message id of a run's report: what the work says, so that a job whose id was used before is not taken for the
// earlier one, provided that it is about this run. Any other id could make the report of another run a duplicate.
func ReportID(w *events.Work) string {
	incarnation, ok := strings.CutSuffix(w.ReportID, "/"+w.SubJob+"/"+strconv.Itoa(w.Run))
	if ok && strings.HasPrefix(incarnation, w.Job+"@") {
		return w.ReportID
	}
	return ID(w.Job, w.SubJob, w.Run)
}

// RequestID is the id under which a run asks for something, which mark tells from its other questions.
func RequestID(subjob string, run int, mark string) string {
	id := subjob + "~" + strconv.Itoa(run) + "~" + mark
	if events.ValidToken(id) {
		return id
	}
	// The id is at its longest. Its end tells SubJobs of one splice apart.
	return id[len(id)-500:]
}
