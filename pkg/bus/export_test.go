package bus

import "context"

// Described calls fits with the sequences of descriptions of a blob, and returns the one that fits.
func (o Blobs) Described(ctx context.Context, job, digest string, fits func(at uint64) error) (uint64, error) {
	_, at, err := o.described(ctx, job, digest, func(_ *blobInfo, at uint64) error { return fits(at) })
	return at, err
}
