package loop

import "context"

// beside runs everything that waits for others in goroutines outside the loop: acks, saves, loads, readings of queues. The loop
// processes their results one after the other.
type beside struct {
	results chan result
	// underWay is how many results of each kind are outstanding.
	underWay [kindsOfWaits]int
}

// waitKind is what such a goroutine waits for.
type waitKind int

// The kinds: the acks of a batch of commands, a save, a load, a reading of a queue.
const (
	batches waitKind = iota
	saves
	loads
	readings
	kindsOfWaits
)

// result is the result of such a goroutine. take passes it to the part that started it.
type result interface {
	kind() waitKind
	take(ctx context.Context, p *Partition) error
}

func newBeside() *beside { return &beside{results: make(chan result, 2*maxInFlight)} }

// begin runs f outside the loop; f must return a result of the kind.
func (b *beside) begin(kind waitKind, f func() result) {
	b.underWay[kind]++
	go func() { b.results <- f() }() // Received by the loop, or by awaitAll.
}

// done counts a result that was received.
func (b *beside) done(r result) { b.underWay[r.kind()]-- }

// idle reports whether no result is outstanding.
func (b *beside) idle() bool { return b.underWay == [kindsOfWaits]int{} }

// awaitAll waits for everything in progress and discards the results.
func (b *beside) awaitAll() {
	for !b.idle() {
		b.done(<-b.results)
	}
}

// take passes a received result to its part.
func (p *Partition) take(ctx context.Context, r result) error {
	p.beside.done(r)
	return r.take(ctx, p)
}

func (*inFlightBatch) kind() waitKind { return batches }
func (*saveResult) kind() waitKind    { return saves }
func (*loaded) kind() waitKind        { return loads }
func (*reading) kind() waitKind       { return readings }

func (b *inFlightBatch) take(ctx context.Context, p *Partition) error { return p.onAcks(ctx, b) }
func (r *saveResult) take(ctx context.Context, p *Partition) error    { return p.onSaved(ctx, r) }
func (l *loaded) take(ctx context.Context, p *Partition) error        { return p.onLoaded(ctx, l) }
func (r *reading) take(ctx context.Context, p *Partition) error       { return p.onReading(ctx, r) }
