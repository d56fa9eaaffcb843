package loop

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
)

// Takers knows which pools take work in batches.
type Takers interface {
	// Takes reports whether all workers of a pool have recently declared that they accept batches. It must not block.
	Takes(pool string) bool
}

// packer puts work for one expert that is sent at the same time into batches. A batch of one is an ordinary message.
type packer struct {
	*env
	open map[address]*bundle // Made with the first of them.
}

// address says whose work goes together: one pool and expert.
type address struct{ pool, expert string }

// bundle is a batch that is being filled, and later the ack for each of its members.
type bundle struct {
	address
	job     string // The job of all members; empty for several.
	body    []byte
	members []batch.Member
	ack     Ack
}

// Wait returns the outcome of the batch, which must have been sent.
func (b *bundle) Wait(ctx context.Context) (uint64, error) { return b.ack.Wait(ctx) }

// add puts work into the batch for its address. A full batch is published, and another one begun. Work that is too large for a
// batch is published separately.
func (k *packer) add(to address, job string, m batch.Member) (Ack, error) {
	if !batch.Fits(nil, 0, &m) {
		return k.publish(m.Message(), Expect{})
	}
	b := k.open[to]
	if b != nil && !batch.Fits(b.body, len(b.members), &m) {
		if err := k.send(b); err != nil {
			return nil, err
		}
		b = nil
	}
	if b == nil {
		if k.open == nil {
			k.open = map[address]*bundle{}
		}
		b = &bundle{address: to, job: job}
		k.open[to] = b
	}
	if b.job != job {
		b.job = ""
	}
	b.body, b.members = batch.Append(b.body, &m), append(b.members, m)
	return b, nil
}

// flush publishes the open batches. The error is the hook's.
func (k *packer) flush() error {
	for _, b := range k.open { // any order: addresses are independent.
		if err := k.send(b); err != nil {
			return err
		}
	}
	return nil
}

// send publishes a batch. It has no message id and no expectation, because a repeat has other members; a runner that gets a member
// twice finds the claim or the report of the first delivery. The error is the hook's.
func (k *packer) send(b *bundle) (err error) {
	delete(k.open, b.address)
	m, expect := b.members[0].Message(), Expect{}
	if len(b.members) > 1 {
		m = events.Message{Subject: batch.Subject(k.Names, b.pool, b.expert, b.job, len(b.members)), Body: b.body}
		expect.Any = true
	}
	b.body, b.members = nil, nil
	b.ack, err = k.publish(m, expect)
	return err
}

const (
	// quickMS is quickRun in milliseconds, the unit of reports.
	quickMS = int64(quickRun / time.Millisecond)
	// quickRuns is how many consecutive runs of an expert must be quick before its work goes in batches.
	quickRuns = 32
	// maxPaces limits the number of experts with a count; beyond it all counts start from zero.
	maxPaces = 4096
)

// paces counts for each expert how many of its last consecutive runs were quick. Slow work is not batched: one runner would hold
// work that other runners have capacity for.
type paces map[address]int

// note records how long a run took. The duration is unknown for runs of workers in other languages.
func (p paces) note(of address, r *events.SubJobReported) {
	if r.Owner == "" || r.Started.IsZero() || r.DurationMS > quickMS {
		delete(p, of)
		return
	}
	if _, known := p[of]; !known && len(p) >= maxPaces {
		clear(p)
	}
	p[of]++
}

// quick reports whether work of an expert may go in batches.
func (p paces) quick(of address) bool { return p[of] >= quickRuns }

// packs reports whether work for an address goes in batches now.
func (o *outbox) packs(to address) bool {
	return o.Takers != nil && (o.BatchAtOnce || o.paces.quick(to)) && o.Takers.Takes(to.pool)
}
