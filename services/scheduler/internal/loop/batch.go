package loop

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
)

// Takers knows which pools take work in batches.
type Takers interface {
	// Takes reports whether all workers of a pool have said so lately. It must not block.
	Takes(pool string) bool
}

// packer puts the work that is sent at once to one expert into batches. A batch of one is a message like any other.
type packer struct {
	names   events.Names
	publish func(m events.Message, expect Expect) (Ack, error)
	open    map[address]*bundle
}

// address is whose work goes together.
type address struct{ pool, expert string }

// bundle is a batch that is being filled, and then the answer to it: that of each of its members.
type bundle struct {
	address
	job     string // The job of all members; empty for several.
	body    []byte
	members []batch.Member
	ack     Ack
	err     error
}

// Wait gives the outcome of the batch.
func (b *bundle) Wait(ctx context.Context) (uint64, error) {
	if b.err != nil {
		return 0, b.err
	}
	return b.ack.Wait(ctx)
}

// add puts work into the batch of its address. When that is full it is published, and another one begun. What fits no batch is
// published by itself.
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
		b = &bundle{address: to, job: job}
		k.open[to] = b
	}
	if b.job != job {
		b.job = ""
	}
	b.body, b.members = batch.Append(b.body, &m), append(b.members, m)
	return b, nil
}

// flush publishes what is open. The error is the hook's alone.
func (k *packer) flush() error {
	for _, b := range k.open { // any order: addresses have nothing in common.
		if err := k.send(b); err != nil {
			return err
		}
	}
	return nil
}

// send publishes a batch. It has no message id, and expects nothing of its subject: its members are not the same when it is published
// again, and a runner that gets one of them twice finds the claim or the report of the first.
func (k *packer) send(b *bundle) error {
	delete(k.open, b.address)
	if m := b.members[0].Message(); len(b.members) == 1 {
		b.ack, b.err = k.publish(m, Expect{})
	} else {
		m = events.Message{Subject: batch.Subject(k.names, b.pool, b.expert, b.job, len(b.members)), Body: b.body}
		b.ack, b.err = k.publish(m, Expect{Any: true})
	}
	b.body, b.members = nil, nil
	if crashed(b.err) {
		return b.err
	}
	return nil
}

const (
	// quickMS is quickRun in milliseconds, as reports have it.
	quickMS = int64(quickRun / time.Millisecond)
	// quickRuns is how many runs of an expert have to be quick, one after the other, before its work goes in batches.
	quickRuns = 32
	// maxPaces bounds the experts of which this is known; beyond it all start from zero.
	maxPaces = 4096
)

// paces counts for each expert how many of its last runs were quick, one after the other. Slow work goes by itself: the runner that
// takes a batch would keep what others have a place for.
type paces map[address]int

// note takes over how long a run took. What no runner of ours has reported is not known.
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
