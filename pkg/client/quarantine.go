package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Quarantine returns ErrQuarantined with the reason, the time and advice, or nil if the job is not in quarantine.
func (j *Job) Quarantine() error {
	if j.Quarantined == nil {
		return nil
	}
	f := *j.Quarantined
	f.Message = fmt.Sprintf("job %s is in quarantine since %s: %s", j.ID, j.Saved.UTC().Format(time.RFC3339), f.Message)
	hints := []string{f.Hint}
	if retry := "`jobgraph dlq retry " + j.ID + "`"; !strings.Contains(f.Hint, retry) {
		hints = append(hints, retry+" tries it again")
	}
	hints = append(hints, "`jobgraph dlq show "+j.ID+"` says more", "`jobgraph delete "+j.ID+"` removes it")
	f.Hint = strings.TrimPrefix(strings.Join(hints, "; "), "; ")
	return fmt.Errorf("%w: %w", ErrQuarantined, &f)
}

// Quarantine watches jobs in quarantine and ends their work.
type Quarantine struct{ client *Client }

// Halt ends the work of a job in quarantine, or that of the one SubJob that a request with Only names. Running workers are
// notified at once, work without a worker is purged, and each running run is closed in its journal, so that a worker that
// missed the notification stops at its next record. Nothing is published about the job. Errors: those of the bus; it may be
// repeated.
func (q Quarantine) Halt(ctx context.Context, j *Job, asked *events.StopRequested) error {
	subjob, work := "", q.client.Names().JobWork(j.ID)
	if asked.Only && events.ValidToken(asked.SubJob) {
		subjob, work = asked.SubJob, q.client.Names().JobWork(j.ID)
		work = work[:len(work)-1] + subjob + ".>"
	}
	body, err := json.Marshal(map[string]string{"reason": asked.Reason})
	if err != nil {
		return fmt.Errorf("halt job %s: %w", j.ID, err)
	}
	if err := q.client.bus.Streams().Purge(ctx, q.client.Names().Work, work); err != nil {
		return fmt.Errorf("halt job %s: %w", j.ID, err)
	}
	if err := q.client.bus.PublishCore(q.client.Names().Cancel(j.ID, subjob), nil, body); err != nil {
		return fmt.Errorf("halt job %s: %w", j.ID, err)
	}
	for i := range j.SubJobs {
		s := &j.SubJobs[i]
		if s.Run == 0 || s.Status.Terminal() || subjob != "" && s.ID != subjob {
			continue
		}
		if err := q.closeRun(ctx, j.ID, s, asked.Reason); err != nil {
			return fmt.Errorf("halt job %s: close run %d of %s: %w", j.ID, s.Run, s.ID, err)
		}
	}
	return q.client.bus.Flush(ctx)
}

// closeRun appends the fence of a run, unless it exists.
func (q Quarantine) closeRun(ctx context.Context, job string, s *SubJob, reason string) error {
	return q.client.Journals().close(ctx, job, s.ID, s.Run, reason)
}

// chance is how long to wait for the end of a job in quarantine: a request to end it makes the scheduler try the job again,
// and its problem may be gone or may not matter for an ending job.
const chance = 2 * time.Second

// endDead ends the work of a job in quarantine, and the job itself if possible. The request to end it has sequence seq.
func (q Quarantine) endDead(ctx context.Context, j *Job, seq uint64, asked *events.StopRequested) error {
	if err := q.Halt(ctx, j, asked); err != nil {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, chance)
	defer cancel()
	if _, err := q.client.endBehind(soon, j.ID, seq); err == nil {
		return nil
	} // It takes longer, or the bus has a problem, which the next call reports.
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return j.Quarantine()
}

// moving is how long a connection may take to move to another server before a failed watch is an error.
const moving = 5 * time.Second

// Watch returns a context that ends with the cause ErrQuarantined when the job is in quarantine, and otherwise with ctx.
// stop releases its resources.
func (q Quarantine) Watch(ctx context.Context, job string) (watched context.Context, stop func(), err error) {
	watched, cancel := context.WithCancelCause(ctx)
	patient, enough := context.WithTimeout(ctx, moving)
	defer enough()
	var end func()
	err = bus.Await(patient, func() (err error) {
		end, err = q.client.bus.State().WatchKey(watched, job, func(e bus.Entry) {
			if !bytes.Contains(e.Value, []byte(`"quarantined"`)) {
				return // Most states; skip decoding, since they may be large.
			}
			if j, err := decodeJob(e); err == nil && j.Quarantined != nil {
				cancel(j.Quarantine())
			}
		})
		return err
	})
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	return watched, func() { cancel(nil); end() }, nil
}
