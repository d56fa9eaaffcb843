package bus

import "context"

// Described calls fits with the sequences of descriptions of a blob, and returns the one that fits.
func (o Blobs) Described(ctx context.Context, job, digest string, fits func(at uint64) error) (uint64, error) {
	_, at, err := o.described(ctx, job, digest, func(_ *blobInfo, at uint64) error { return fits(at) })
	return at, err
}

// OnDenial calls f with each subject under a prefix on which the server lets this process publish nothing, until stop.
func (b *Bus) OnDenial(prefix string, f func(subject string)) (stop func()) {
	return b.denials.on(prefix, func(subject string, _ error) { f(subject) })
}

// Proves reports whether a proof fits an id.
func Proves(proof, id string) bool { return proves(proof, id) }
