package run

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/incarnation"
)

// ID returns "<job>/<subjob>/<run>". With the job's incarnation instead of its id it is the idempotency_key and the
// report_id of the run, the same for every delivery.
func ID(job, subjob string, run int) string { return job + "/" + subjob + "/" + strconv.Itoa(run) }

// FactID returns "<job>/<kind>/<key>": the message id of a fact that a job has once per key. An empty key stands for a fact
// that a job has once.
func FactID(job string, kind events.Kind, key string) string {
	if key == "" {
		return job + "/" + string(kind)
	}
	return job + "/" + string(kind) + "/" + key
}

// EventID returns "<job>/<kind>/<subjob>/<run>": the message id of a fact about a run.
func EventID(job string, kind events.Kind, subjob string, run int) string {
	return FactID(job, kind, subjob+"/"+strconv.Itoa(run))
}

// issued replaces the kind in the message ids of work.
const issued events.Kind = "subjob.issued"

// WorkID returns the message id of a run's work. incarnation distinguishes the job from an earlier one with the same id.
func WorkID(incarnation, subjob string, run int) string {
	return EventID(incarnation, issued, subjob, run)
}

// IncarnationOf returns the incarnation of a work message's job, or its id if the message does not contain it.
func IncarnationOf(w *events.Work) string {
	if incarnation, rest, ok := strings.Cut(w.IdempotencyKey, "/"); ok && rest != "" {
		return incarnation
	}
	return w.Job
}

// BornOf returns the sequence of the request of a work message's job, 0 if the message does not contain it.
func BornOf(w *events.Work) uint64 { return incarnation.Of(w.IdempotencyKey, w.Job) }

// KeyOf returns the idempotency key of another run of the same SubJob.
func KeyOf(w *events.Work, run int) string { return ID(IncarnationOf(w), w.SubJob, run) }

// CallKey returns the idempotency key of one call within a run: the run's key and the call's own key.
func CallKey(key, call string) string { return key + "/" + call }

// ReportID returns the message id of a run's report: the one in the work message if it belongs to this run, so that a job
// with a reused id is not mistaken for the earlier one. Any other id could make the report of another run a duplicate.
func ReportID(w *events.Work) string {
	if strings.HasSuffix(w.ReportID, "/"+w.SubJob+"/"+strconv.Itoa(w.Run)) && incarnation.Of(w.ReportID, w.Job) > 0 {
		return w.ReportID
	}
	return ID(w.Job, w.SubJob, w.Run)
}

// Address is the parsed subject of a work message.
type Address struct {
	Pool, Expert, Job, SubJob string
	Run                       int
}

// ReadAddress parses <prefix>.work.<pool>.<expert>.<job>.<subjob>.<run>.
func ReadAddress(n events.Names, subject string) (a Address, err error) {
	rest, ok := strings.CutPrefix(subject, n.Prefix()+".work.")
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 5 {
		return a, fmt.Errorf("read work: subject %.200q is no work subject", subject)
	}
	for _, part := range parts[:4] {
		if !events.ValidToken(part) {
			return a, fmt.Errorf("read work: %.80q in the subject is no id", part)
		}
	}
	run, err := strconv.Atoi(parts[4])
	if err != nil || run < 1 || strconv.Itoa(run) != parts[4] {
		return a, fmt.Errorf("read work: %.80q in the subject is no run", parts[4])
	}
	return Address{parts[0], parts[1], parts[2], parts[3], run}, nil
}

// RequestID returns the id of a request of a run; mark distinguishes its requests.
func RequestID(subjob string, run int, mark string) string {
	id := subjob + "~" + strconv.Itoa(run) + "~" + mark
	if events.ValidToken(id) {
		return id
	}
	// The id is at its maximum length. Its end distinguishes the SubJobs of one split.
	return id[len(id)-500:]
}
