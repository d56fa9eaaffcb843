package client

import (
	"context"
	"errors"
	"iter"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// Items yields the stored live items of a job, or of one SubJob, that count, after a sequence, up to what is stored when the reading
// begins. Where signatures count, an item counts if its subject names no pool, since only the engine may publish there, or the pool of its
// run. A message of which no item counts comes without items. Errors: those of bus.Items.Of and of Client.Events.
func (l Logs) Items(ctx context.Context, job, subjob string, after uint64) iter.Seq2[bus.ItemMessage, error] {
	return newItemJudge(l.client, job).items(ctx, subjob, after)
}

// itemJudge decides which live items of a job count. It belongs to one goroutine.
type itemJudge struct {
	client *Client
	job    string
	log    joblog.PoolReader
	// asked are the experts that the planner consults, as far as it has said so: their only run, by SubJob.
	asked map[string]events.Tenure
}

func newItemJudge(c *Client, job string) *itemJudge {
	return &itemJudge{client: c, job: job, asked: map[string]events.Tenure{}}
}

func (j *itemJudge) items(ctx context.Context, subjob string, after uint64) iter.Seq2[bus.ItemMessage, error] {
	return func(yield func(bus.ItemMessage, error) bool) {
		for m, err := range j.client.bus.Items().Of(ctx, j.job, subjob, after) {
			if err == nil {
				err = j.sift(ctx, &m)
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// sift removes the items of a message that do not count. It reads the log at most once: an event by which a pool has a run is stored
// before the work of that run. Errors: those of Client.Events.
func (j *itemJudge) sift(ctx context.Context, m *bus.ItemMessage) error {
	if m.Pool == "" || !j.client.bus.Signed() {
		return nil
	}
	kept, looked := m.Items[:0], false
	for _, i := range m.Items {
		counts, forEver := j.counts(m.SubJob, m.Pool, i.Run)
		if !forEver && !looked {
			if err := j.look(ctx, m.SubJob); err != nil {
				return err
			}
			looked = true
			counts, _ = j.counts(m.SubJob, m.Pool, i.Run)
		}
		if counts {
			kept = append(kept, i)
		}
	}
	m.Items = kept
	return nil
}

// current returns the current run of a SubJob, if a pool has it.
func (j *itemJudge) current(ctx context.Context, subjob, pool string) (run int, ok bool, err error) {
	if err := j.look(ctx, subjob); err != nil {
		return 0, false, err
	}
	run = j.log.Run(subjob)
	ok, _ = j.counts(subjob, pool, run)
	return run, ok && run > 0, nil
}

// counts reports whether an item counts, and whether that is for ever, according to what has been read.
func (j *itemJudge) counts(subjob, pool string, run int) (counts, forEver bool) {
	if t, ok := j.asked[subjob]; ok {
		return t == events.Tenure{Pool: pool, Run: run}, true
	}
	return j.log.Shows(subjob, pool, run)
}

// look reads what is known about the pools of a SubJob now.
func (j *itemJudge) look(ctx context.Context, subjob string) error {
	if joblog.Consulted(subjob) {
		return j.announced(ctx, subjob)
	}
	err := j.log.Read(j.client.Events(ctx, j.job, j.log.Last()))
	if errors.Is(err, ErrNotFound) && j.log.Last() == 0 { // There is no such job.
		return nil
	}
	return err
}

// announced reads in which pool the planner consults an expert: it says so in an item on the subject without a pool.
func (j *itemJudge) announced(ctx context.Context, subjob string) error {
	n := item.LiveSubjects(j.client.Names())
	m, err := j.client.bus.Streams().LastOn(ctx, n.Stream(), n.SubJob(j.job, subjob))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	list, _ := item.Decode(m.Body)
	for _, i := range list {
		if i.Pool != "" && i.Run > 0 {
			j.asked[subjob] = events.Tenure{Pool: i.Pool, Run: i.Run}
		}
	}
	return nil
}
