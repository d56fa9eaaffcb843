package task

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Order is one work message, parsed and checked.
type Order struct {
	events.Work
	// Pool and Expert are taken from the subject.
	Pool, Expert string
	// Facts is the pool that the subjects of the run's facts name; empty if they name none.
	Facts string
	// Claims is the pool in the subject of the claim; empty if it names none.
	Claims string
	// Shows is the pool in the subject of live items; empty if it names none.
	Shows string
}

// Read parses a work message. The subject alone decides job, SubJob and run; a contradicting body is an error, and so is work that
// is not for an expert. The error's text is for the log, the report and the dead letter. With an error the order is nil if the
// subject names no run; otherwise it says which run cannot be executed.
func Read(n events.Names, subject string, body []byte) (*Order, error) {
	at, err := run.ReadAddress(n, subject)
	if err != nil {
		return nil, err
	}
	o := &Order{Pool: at.Pool, Expert: at.Expert}
	unreadable := func(err error) (*Order, error) {
		return &Order{Work: events.Work{Job: at.Job, SubJob: at.SubJob, Run: at.Run}, Pool: o.Pool, Expert: o.Expert}, fmt.Errorf("read work: %w", err)
	}
	if err := events.ReadWork(body, &o.Work); err != nil {
		return unreadable(err)
	}
	if (o.Job != "" && o.Job != at.Job) || (o.SubJob != "" && o.SubJob != at.SubJob) || (o.Run != 0 && o.Run != at.Run) {
		return unreadable(fmt.Errorf("body is about %.80q/%.80q run %d, subject about %s/%s run %d", o.Job, o.SubJob, o.Run, at.Job, at.SubJob, at.Run))
	}
	switch o.Kind {
	case "", events.WorkExecute, events.WorkFinalize:
	default:
		return unreadable(fmt.Errorf("kind %.40q is not for an expert", string(o.Kind)))
	}
	o.Job, o.SubJob, o.Run = at.Job, at.SubJob, at.Run
	if o.ReportSubject == n.RunEventOf(o.Job, events.KindSubJobReported, o.SubJob, o.Run, o.Pool) {
		o.Facts = o.Pool
	}
	if o.ClaimSubject == n.JournalIn(o.Job, o.SubJob, o.Pool) {
		o.Claims = o.Pool
	}
	if o.ItemSubject == item.LiveSubjects(n).In(o.Job, o.SubJob, o.Pool) {
		o.Shows = o.Pool
	}
	o.settle()
	return o, nil
}

// ExpertOf is the expert that a work subject names, or "".
func ExpertOf(n events.Names, subject string) string {
	rest, _ := strings.CutPrefix(subject, n.Prefix()+".work.")
	_, rest, _ = strings.Cut(rest, ".")
	expert, _, _ := strings.Cut(rest, ".")
	return expert
}

// settle fills in defaults.
func (o *Order) settle() {
	if o.Kind == "" {
		o.Kind = events.WorkExecute
	}
	if o.Lease == 0 {
		o.Lease = events.Duration(run.DefaultLease)
	}
	o.Lease = events.Duration(min(max(o.Lease.Std(), run.MinLease), run.MaxLease))
	if o.Goal == "" {
		o.Goal, o.Context, o.CompletionCriteria = o.Spec.Goal, o.Spec.Context, o.Spec.CompletionCriteria
	}
	if o.IdempotencyKey == "" {
		o.IdempotencyKey = o.ID()
	}
}

// ID is "<job>/<subjob>/<run>", the identity of the run among existing jobs.
func (o *Order) ID() string { return run.ID(o.Job, o.SubJob, o.Run) }

// Inquiry is true for work outside the graph: a consultation of a planning run. run is that planning run. The state does not
// contain such work, only the planning run.
func (o *Order) Inquiry() (run int, ok bool) {
	rest, ok := strings.CutPrefix(o.SubJob, events.PlanID+"~")
	number, _, found := strings.Cut(rest, "~")
	run, err := strconv.Atoi(number)
	return run, ok && found && err == nil
}
