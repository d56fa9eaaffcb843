package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errStuck is the error of a benchmark that waits for something that never ends.
var errStuck = errors.New("it does not end")

const (
	patient     = 2 * time.Minute        // How long a wait may last on a busy machine.
	patientEach = 100 * time.Millisecond // How much longer it may last for each SubJob.
)

// patience limits a wait for n SubJobs. When it is over, the cause of the context is errStuck.
func patience(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	limit := patient + time.Duration(n)*patientEach
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: given up after %s; warnings of the services are on standard error", errStuck, limit))
}
