package loop

import "context"

// beside runs everything that waits for others in goroutines outside the loop: acks, saves, loads, readings of queues. The loop
// processes their results one after the other.
type beside struct {
	results chan result
	// underWay is how many results are outstanding.
	underWay int
}

// result is the result of such a goroutine. take passes it to the part that started it.
type result interface {
	take(ctx context.Context, p *Partition) error
}

func newBeside() *beside { return &beside{results: make(chan result, 2*maxInFlight)} }

// begin runs f outside the loop; f must return.
func (b *beside) begin(f func() result) {
	b.underWay++
	go func() { b.results <- f() }() // Received by the loop, or by awaitAll.
}

// awaitAll waits for everything in progress and discards the results.
func (b *beside) awaitAll() {
	for ; b.underWay > 0; b.underWay-- {
		<-b.results
	}
}

// take passes a received result to its part.
func (p *Partition) take(ctx context.Context, r result) error {
	p.beside.underWay--
	return r.take(ctx, p)
}

func (b *inFlightBatch) take(ctx context.Context, p *Partition) error { return p.onAcks(ctx, b) }
func (r *saveResult) take(ctx context.Context, p *Partition) error    { return p.onSaved(ctx, r) }
func (r *reading) take(ctx context.Context, p *Partition) error       { return p.onReading(ctx, r) }
func (l *loaded) take(ctx context.Context, p *Partition) error        { return p.onLoaded(ctx, l) }
