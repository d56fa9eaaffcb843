package bus

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"

	"github.com/google/uuid"
)

// headerProof carries the proof of a request on jobs.api.submit that its sender has made the id of the job.
const headerProof = "Jobgraph-Id-Proof"

// ProvenID makes a job id, sortable by time and unique without coordination, and a proof of having made it. The second half of the id is
// derived from the proof, so that no one else can find a proof that fits. A proof is a secret until its job exists or is refused.
func ProvenID() (id, proof string, err error) {
	proof = rand.Text()
	made, err := uuid.NewV7FromReader(bytes.NewReader(derived(proof)))
	if err != nil {
		return "", "", fmt.Errorf("make job id: %w", err)
	}
	return made.String(), proof, nil
}

// derived returns the random bytes of an id with a proof. The first half is replaced by the time.
func derived(proof string) []byte {
	sum := sha256.Sum256([]byte("jobgraph job id " + proof))
	return sum[:16]
}

// proves reports whether a proof fits an id.
func proves(proof, id string) bool {
	made, err := uuid.Parse(id)
	if err != nil || made.Version() != 7 || made.String() != id || proof == "" {
		return false
	}
	want := derived(proof)
	want[8] = want[8]&0x3f | 0x80 // The bits of the variant.
	return subtle.ConstantTimeCompare(made[8:], want[8:]) == 1
}

type proofKey struct{}

// WithProof returns a context whose requests to services carry the proof that their sender has made a job id. Requests in the queue do not:
// others may read them.
func WithProof(ctx context.Context, proof string) context.Context {
	return context.WithValue(ctx, proofKey{}, proof)
}

// Made reports whether the sender of the request that an Endpoint answers with ctx has proved to have made a job id.
func (s Services) Made(ctx context.Context, id string) bool {
	r, ok := ctx.Value(requestKey{}).(*arrived)
	return ok && proves(r.message.Get(headerProof), id)
}
