package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// slack is the possible difference between the clocks of two writers on one machine: a shell starts between the last look
// at the journal, or the broker's stamp of a close, and the first line of a program, which takes time on a busy machine.
const slack = 300 * time.Millisecond

// judged is one job according to its log, its journals and the marks of its programs.
type judged struct {
	job     string
	x       *client.Export
	marks   map[[2]string][]*execution
	answers map[[2]string]answer
	experts map[string]string
	reports map[string][]events.Event // The reports of each SubJob, in order.
	report  *Report
}

// judge compares the logs, journals, saved states and marks of all jobs with each other and with what Jobgraph
// promises.
func judge(ctx context.Context, c *client.Client, l *load, f *faults, left []string) (*Report, error) {
	marks, err := readMarks(l.marks)
	if err != nil {
		return nil, err
	}
	r := &Report{Faults: f.count, InFlight: f.inFlight, Overlapping: f.overlapping, By: f.made, Stays: f.stays, Accepted: len(l.accepted)}
	for _, job := range l.accepted {
		x, err := c.Archive().Export(ctx, job, time.Now())
		if err != nil {
			r.fault("lost", "%s: it cannot be read: %v", job, err)
			continue
		}
		j := &judged{job: job, x: x, marks: marks, answers: l.answers, experts: map[string]string{}, reports: map[string][]events.Event{}, report: r}
		if err := j.look(); err != nil {
			return nil, err
		}
	}
	found, err := c.Bus().Streams().Survey(ctx)
	if err != nil {
		return nil, err
	}
	left = append(left, found.Quarantined...)
	slices.Sort(left)
	for _, job := range slices.Compact(left) {
		r.fault("quarantined", "%s", job)
	}
	return r, nil
}

func (j *judged) look() error {
	h, err := joblog.Fold(j.x.Resolved(), 0)
	if err != nil {
		return err
	}
	state := h.Job.View()
	switch {
	case !state.Status.Terminal():
		j.report.fault("lost", "%s is %s", j.job, state.Status)
	case state.Status == events.Finished:
		j.report.Finished++
	default:
		j.report.Failed++
	}
	for _, n := range state.SubJobs {
		j.experts[n.ID] = n.Expert
	}
	for e, err := range j.x.Events() {
		if err != nil {
			return err
		}
		switch e.Kind {
		case events.KindSubJobReported:
			j.reports[e.SubJob] = append(j.reports[e.SubJob], e)
		case events.KindInputRequested:
			j.question(&e, j.x.Journal(e.SubJob))
		}
	}
	if err := j.differences(); err != nil {
		return err
	}
	for subjob := range j.experts { // any order: SubJobs are judged by themselves.
		j.executions(subjob, j.x.Journal(subjob))
	}
	return nil
}

// differences compares the saved state with the fold of the log up to the same event.
func (j *judged) differences() error {
	var at struct {
		Seq uint64 `json:"seq"`
	}
	if len(j.x.State) == 0 {
		j.report.fault("differences", "%s has no saved state", j.job)
		return nil
	}
	if err := json.Unmarshal(j.x.State, &at); err != nil {
		return err
	}
	h, err := joblog.Fold(j.x.Resolved(), at.Seq)
	if err != nil {
		return err
	}
	folded, err := h.Job.MarshalJSON()
	if err != nil {
		return err
	}
	list, err := joblog.Differences(j.x.State, folded)
	for _, d := range list {
		j.report.fault("differences", "%s: %s", j.job, d.Field)
	}
	return err
}

// question counts a question about an unknown outcome, and reports one whose answer was already in the journal.
func (j *judged) question(e *events.Event, journal []run.Entry) {
	asked, ok := e.Data.(*events.InputRequested)
	if !ok || asked.Kind != events.InputUnknown {
		return
	}
	j.report.Questions++
	began := slices.ContainsFunc(j.marks[[2]string{j.job, e.SubJob}], func(x *execution) bool { return x.begin.Before(e.Time) })
	if !began {
		j.report.NeverBegun++
	}
	type effect struct {
		run int
		key string
	}
	settled := map[effect]bool{}
	for _, entry := range journal {
		switch {
		case !entry.Time.Before(e.Time):
		case entry.Type == events.JournalClaimed && entry.Name != "" || entry.Type == events.JournalIntent:
			settled[effect{entry.Run, entry.Key}] = false
		case entry.Type == events.JournalResult:
			settled[effect{entry.Run, entry.Key}] = true
		}
	}
	open := false
	for _, over := range settled { // any order: one is enough.
		open = open || !over
	}
	if !open {
		j.report.fault("needless questions", "%s/%s: %s", j.job, e.SubJob, asked.Request)
	}
}

// executions checks how often the program of a SubJob ran, and when.
func (j *judged) executions(subjob string, journal []run.Entry) {
	list := j.marks[[2]string{j.job, subjob}]
	j.report.Executions += len(list)
	for i, x := range list {
		for _, entry := range journal {
			if entry.Type == events.JournalClosed && entry.Run >= x.run && x.begin.After(entry.Time.Add(slack)) {
				j.report.fault("begun after a close", "%s/%s run %d, %s behind it", j.job, subjob, x.run, x.begin.Sub(entry.Time))
				break
			}
		}
		said := i > 0 && j.retried(subjob, list[0].begin, x.begin) // The check of questions has reported that.
		if done := j.succeeded(subjob, journal); !done.IsZero() && x.begin.After(done.Add(slack)) && !said {
			j.report.fault("repeated after a finish", "%s/%s run %d, %s behind it", j.job, subjob, x.run, x.begin.Sub(done))
		}
		if i > 0 {
			j.repeat(subjob, list[i-1], x)
		}
	}
}

// succeeded returns when the first success of a SubJob was stored, in the log or in the journal; zero if there is none.
func (j *judged) succeeded(subjob string, journal []run.Entry) (at time.Time) {
	first := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	for i := range j.reports[subjob] {
		if e := &j.reports[subjob][i]; e.Report().Outcome == events.Success {
			first(e.Time)
		}
	}
	for _, entry := range journal {
		var report struct {
			Outcome events.Outcome `json:"outcome"`
		}
		if entry.Type == events.JournalReported && json.Unmarshal(entry.Data, &report) == nil && report.Outcome == events.Success {
			first(entry.Time)
		}
	}
	return at
}

// repeat checks a repeated execution of a SubJob. Even an execution that must not be repeated may be, if a person allowed it or
// if the first execution reported a failure.
func (j *judged) repeat(subjob string, before, x *execution) {
	failed := slices.ContainsFunc(j.reports[subjob], func(e events.Event) bool {
		return e.Run == before.run && e.Report().Outcome != events.Success && e.Time.Before(x.begin.Add(slack))
	})
	alive := x.begin.Before(before.seen.Add(-slack))
	if failed {
		return
	}
	if j.experts[subjob] != once {
		j.report.Repeated++
		if alive {
			j.report.Twice++
		}
		return
	}
	if j.retried(subjob, before.begin, x.begin) {
		return
	}
	j.report.fault("repeated unasked", "%s/%s run %d behind run %d", j.job, subjob, x.run, before.run)
	if alive {
		j.report.fault("alive twice", "%s/%s run %d beside run %d", j.job, subjob, x.run, before.run)
	}
}

// retried reports whether a person, between two times, has asked to repeat a program with an unknown outcome.
func (j *judged) retried(subjob string, from, to time.Time) bool {
	for key, a := range j.answers { // any order: one is enough.
		if key[0] == j.job && a.subjob == subjob && a.choice == run.Retry && a.at.After(from) && a.at.Before(to) {
			return true
		}
	}
	return false
}

// Report is the result of a campaign.
type Report struct {
	// Faults counts the faults, InFlight how many hit running programs, Overlapping how many came while another one lasted, By the number
	// of each kind.
	Faults      int            `json:"faults"`
	InFlight    int            `json:"in_flight"`
	Overlapping int            `json:"overlapping"`
	By          map[string]int `json:"by"`
	// Stays are the mixes of releases, in order.
	Stays []Stay `json:"stays,omitempty"`
	// Accepted counts jobs; Finished and Failed how they ended.
	Accepted int `json:"accepted"`
	Finished int `json:"finished"`
	Failed   int `json:"failed"`
	// Executions counts executions of programs. Repeated counts repetitions of repeatable programs after an unknown
	// outcome, Twice those during which the first was still running.
	Executions int `json:"executions"`
	Repeated   int `json:"repeated_in_flight"`
	Twice      int `json:"alive_twice_may_be_repeated"`
	// Questions counts questions to a person about a program, NeverBegun those about a program that had never begun, as
	// only its own marks show.
	Questions  int `json:"questions"`
	NeverBegun int `json:"questions_about_what_had_not_begun"`
	// Violations are violated promises, by name.
	Violations map[string][]string `json:"violations"`
}

// names lists the promises.
func names() []string {
	return []string{"lost", "repeated after a finish", "repeated unasked", "alive twice", "needless questions", "begun after a close", "differences", "quarantined"}
}

func (r *Report) fault(name, format string, args ...any) {
	if r.Violations == nil {
		r.Violations = map[string][]string{}
	}
	r.Violations[name] = append(r.Violations[name], fmt.Sprintf(format, args...))
}

// Sound reports whether there are no violations.
func (r *Report) Sound() bool { return len(r.Violations) == 0 }
