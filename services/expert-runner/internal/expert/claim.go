package expert

import "context"

// Claim is this runner's right to make the effects of a run. It is safe for concurrent use.
type Claim interface {
	// Confirm checks the claim again. Call it right before an effect that Hand.Do does not make. An error means that the effect
	// must not begin: the run was closed or taken over, or ctx has ended.
	Confirm(ctx context.Context) error
	// Renewed calls f whenever the claim was renewed, until stop is called. f must return at once.
	Renewed(f func()) (stop func())
}

// Confirm checks the claim of the run again, see Claim; a task without a claim needs none.
func (t *Task) Confirm(ctx context.Context) error {
	if t.Claim == nil {
		return context.Cause(ctx)
	}
	return t.Claim.Confirm(ctx)
}
