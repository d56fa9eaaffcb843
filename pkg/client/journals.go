package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/canvas"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Journal returns the journal of a SubJob in the export, oldest record first. An entry that is not a valid record has the
// reason in Malformed.
func (x *Export) Journal(subjob string) []run.Entry {
	var list []run.Entry
	for _, r := range x.Journals {
		if x.subJobOf(r) == subjob {
			list = append(list, r.entry())
		}
	}
	return list
}

func (r Record) entry() run.Entry {
	return bus.ReadEntry(bus.Stored{Message: r.Message(), Seq: r.Seq, Time: r.Time})
}

// Journaled lists the SubJobs with a journal in the export, sorted.
func (x *Export) Journaled() []string {
	seen := map[string]bool{}
	for _, r := range x.Journals {
		seen[x.subJobOf(r)] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// Journals reads the records of a SubJob's runs: calls, and what agents and models said.
type Journals struct{ client *Client }

// Calls lists the effects of all runs of a SubJob, in the order in which they began. Errors: those of the bus.
func (j Journals) Calls(ctx context.Context, job, subjob string) ([]joblog.Call, error) {
	entries, err := j.read(ctx, job, subjob)
	if err != nil {
		return nil, err
	}
	return joblog.Calls(entries, j.client.Logs().kept(ctx, job))
}

// CallsOf is like Calls, for a caller that has the log of the job.
func (j Journals) CallsOf(ctx context.Context, log *joblog.Log, subjob string) ([]joblog.Call, error) {
	entries, err := j.Read(ctx, log, subjob)
	if err != nil {
		return nil, err
	}
	return joblog.Calls(entries, j.client.Logs().kept(ctx, log.Job.ID))
}

// Timed lists the calls of all SubJobs of a job that began at created, in the order in which they began. Calls whose payload was
// deleted have no cost. Errors: those of the bus.
func (j Journals) Timed(ctx context.Context, job string, created time.Time) ([]verb.CallLine, error) {
	if err := checkID(job); err != nil {
		return nil, err
	}
	all := &Export{Job: job, Prefix: j.client.Names().Prefix()}
	for r, err := range j.all(ctx, job) {
		if err != nil {
			return nil, err
		}
		all.Journals = append(all.Journals, r)
	}
	return all.timed(created, j.client.Logs().kept(ctx, job))
}

// timed lists the calls in the journals of an export. Errors: those of get.
func (x *Export) timed(created time.Time, get joblog.Payloads) ([]verb.CallLine, error) {
	bySubJob := map[string][]run.Entry{}
	for _, r := range x.Journals {
		subjob := x.subJobOf(r)
		bySubJob[subjob] = append(bySubJob[subjob], r.entry())
	}
	var list []verb.CallLine
	for _, subjob := range slices.Sorted(maps.Keys(bySubJob)) {
		calls, err := joblog.Calls(bySubJob[subjob], get)
		if err != nil {
			return nil, err
		}
		for i := range calls {
			list = append(list, canvas.CallLine(subjob, &calls[i], created))
		}
	}
	slices.SortStableFunc(list, func(a, b verb.CallLine) int { return cmp.Compare(a.Begun, b.Begun) })
	return list, nil
}

// Exchanges lists the calls of a SubJob's planning runs, in order. Errors: those of the bus.
func (j Journals) Exchanges(ctx context.Context, job, subjob string) ([]joblog.Exchange, error) {
	entries, err := j.read(ctx, job, subjob)
	if err != nil {
		return nil, err
	}
	return joblog.Exchanges(subjob, entries, j.client.Logs().kept(ctx, job))
}

func (j Journals) read(ctx context.Context, job, subjob string) ([]run.Entry, error) {
	if err := checkID(job); err != nil {
		return nil, err
	}
	entries, _, err := j.journal(j.pools(ctx, job), job, subjob).Read(ctx)
	return entries, err
}

// ended returns the last ended run of each SubJob, according to the log.
func (x *Export) ended() (map[string]int, error) {
	ended := map[string]int{}
	for e, err := range x.Events() {
		if err != nil {
			return nil, err
		}
		if e.Run > 0 && e.Kind != events.KindSubJobStarted && e.Kind != events.KindSubJobProgressed {
			ended[e.SubJob] = max(ended[e.SubJob], e.Run)
		}
	}
	return ended, nil
}

// moving returns the export without the log records which say that a worker is executing a run that has not ended. That
// worker does not exist in the new place: a scheduler that read those records would believe that the run is in progress and
// would not issue its work. Without them the run looks as if it was just issued, and a worker that takes it publishes them
// again.
func (x *Export) moving() (*Export, error) {
	ended, err := x.ended()
	if err != nil {
		return nil, err
	}
	names := events.NewNames(x.Prefix)
	moving := *x
	moving.Records = slices.DeleteFunc(slices.Clone(x.Records), func(r Record) bool {
		at, ok := names.Parse(r.Subject)
		return ok && at.Kind == events.KindSubJobStarted && at.Run > ended[at.SubJob]
	})
	return &moving, nil
}

// journalCopy is a journal that is being imported.
type journalCopy struct {
	subject string
	bodies  [][]byte
	// there counts the records that are stored, the last of them at sequence last.
	there int
	last  uint64
}

// bringJournals writes the journals of an export, and closes the last ended run of each SubJob in its journal. Records of
// an earlier import stay.
func (a Archive) bringJournals(ctx context.Context, x *Export) error {
	copies, err := x.copies(a.client.Names(), a.pools(x))
	if err != nil {
		return err
	}
	for s, err := range a.client.bus.JournalsOf(ctx, x.Job) {
		if err != nil {
			return err
		}
		j := copies[s.Subject]
		if j == nil || j.there == len(j.bodies) || !bytes.Equal(j.bodies[j.there], s.Body) {
			return fmt.Errorf("%w: %w", ErrConflict, &events.Fault{
				Code: events.CodeConflict, Field: "journal", Message: "a journal of job " + x.Job + " is here already, with other records: " + s.Subject,
				Hint: "jobgraph delete " + x.Job + " removes it",
			})
		}
		j.there++
		j.last = s.Seq
	}
	return a.appendAll(ctx, copies)
}

// pools returns the pools on whose subjects the journals of an export have to be, so that the runs that continue here
// find them.
func (a Archive) pools(x *Export) joblog.Pools {
	if _, ok := a.client.bus.JournalsOfPools(); !ok {
		return nil
	}
	log, _ := joblog.Fold(x.Resolved(), 0) // A job that cannot be folded does not continue.
	return log.Pools()
}

// copies returns the journals by their subjects under other names.
func (x *Export) copies(names events.Names, pools joblog.Pools) (map[string]*journalCopy, error) {
	ended, err := x.ended()
	if err != nil {
		return nil, err
	}
	copies := map[string]*journalCopy{}
	of := func(subjob string) *journalCopy {
		pool, _ := pools.Of(subjob)
		if pool == joblog.AnyPool {
			pool = ""
		}
		subject := names.JournalIn(x.Job, subjob, pool)
		if copies[subject] == nil {
			copies[subject] = &journalCopy{subject: subject}
		}
		return copies[subject]
	}
	closed := map[string]int{}
	for _, r := range x.Journals {
		subjob, e := x.subJobOf(r), r.entry()
		if ahead(subjob, &e, ended[subjob]) {
			continue
		}
		j := of(subjob)
		j.bodies = append(j.bodies, r.Body)
		if e.Type == events.JournalClosed {
			closed[subjob] = max(closed[subjob], e.Run)
		}
	}
	for subjob, last := range ended { // any order: each is independent.
		if closed[subjob] >= last {
			continue
		}
		body, err := json.Marshal(run.Closed(last, "imported"))
		if err != nil {
			return nil, err
		}
		j := of(subjob)
		j.bodies = append(j.bodies, body)
	}
	return copies, nil
}

// ahead reports whether a journal record refers to something that the log does not contain yet, because the job continued
// during the export: a run that was not issued, or the close of a run that had not ended. Importing it would block that
// run. Consult requests before planning are closed by the planner and never appear in the log.
func ahead(subjob string, e *run.Entry, ended int) bool {
	if e.Malformed != "" || strings.HasPrefix(subjob, events.PlanID+"~") {
		return false
	}
	return e.Run > ended+1 || e.Type == events.JournalClosed && e.Run > ended
}

// appendAll appends the missing records, journals concurrently: each record waits for the previous one of its journal.
func (a Archive) appendAll(ctx context.Context, copies map[string]*journalCopy) error {
	open := make([]*journalCopy, 0, len(copies))
	for _, subject := range slices.Sorted(maps.Keys(copies)) {
		open = append(open, copies[subject])
	}
	for {
		open = slices.DeleteFunc(open, func(j *journalCopy) bool { return j.there == len(j.bodies) })
		if len(open) == 0 {
			return nil
		}
		acks := make([]bus.Ack, 0, len(open))
		for _, j := range open {
			acks = append(acks, a.client.bus.PublishAsync(events.Message{Subject: j.subject, Body: j.bodies[j.there]}, bus.ExpectLast(j.last)))
		}
		var errs []error
		for i, ack := range acks {
			seq, err := ack.Wait(ctx)
			if err != nil {
				errs = append(errs, fmt.Errorf("append to %s: %w", open[i].subject, err))
				continue
			}
			open[i].there++
			open[i].last = seq
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
}
