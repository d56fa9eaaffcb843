package loop

import "context"

// beside runs what waits for others in goroutines beside the loop: acks, saves, loads, readings of queues. The loop takes their
// results over one after the other.
type beside struct {
	results chan result
	// underWay is how many results are outstanding.
	underWay int
}

// result is what a goroutine beside the loop has ended with. take hands it to the part that began it.
type result interface {
	take(ctx context.Context, p *Partition) error
}

func newBeside() *beside { return &beside{results: make(chan result, 2*maxInFlight)} }

// begin runs f beside the loop; it must end.
func (b *beside) begin(f func() result) {
	b.underWay++
	go func() { b.results <- f() }() // Received by the loop, or by awaitAll.
}

// awaitAll waits for what is under way; its results no longer matter.
func (b *beside) awaitAll() {
	for ; b.underWay > 0; b.underWay-- {
		<-b.results
	}
}

// take hands one received result to its part.
func (p *Partition) take(ctx context.Context, r result) error {
	p.beside.underWay--
	return r.take(ctx, p)
}

func (b *inFlightBatch) take(ctx context.Context, p *Partition) error { return p.onAcks(ctx, b) }
func (r *saveResult) take(ctx context.Context, p *Partition) error    { return p.onSaved(ctx, r) }
func (r *reading) take(ctx context.Context, p *Partition) error       { return p.onReading(ctx, r) }
func (l *loaded) take(ctx context.Context, p *Partition) error        { return p.onLoaded(ctx, l) }
