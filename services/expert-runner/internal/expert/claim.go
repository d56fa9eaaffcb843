package expert

import "context"

// Claim is the right of this runner to make the effects of a run. It may be used by any number of goroutines.
type Claim interface {
	// Confirm looks at the claim once more. An effect that is not made by Hand.Do is made right behind it. An error means that the
	// effect must not begin: the run was closed or taken over, or ctx has ended.
	Confirm(ctx context.Context) error
	// Renewed calls f whenever the runner was able to keep the claim, until stop is called. f returns at once.
	Renewed(f func()) (stop func())
}

// Confirm looks at the claim of the run once more, see Claim; a task without one needs none.
func (t *Task) Confirm(ctx context.Context) error {
	if t.Claim == nil {
		return context.Cause(ctx)
	}
	return t.Claim.Confirm(ctx)
}
