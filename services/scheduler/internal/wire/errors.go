package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// classed gives an error of the bus in the loop's words, too.
func classed(err error) error {
	if err == nil {
		return nil
	}
	for _, class := range []struct{ of, is error }{
		{bus.ErrConflict, loop.ErrConflict}, {bus.ErrUnknown, loop.ErrUnknown}, {bus.ErrTooLarge, loop.ErrTooLarge}, {bus.ErrNotFound, loop.ErrNotFound},
	} {
		if errors.Is(err, class.of) {
			return fmt.Errorf("%w: %w", class.is, err)
		}
	}
	return err
}

// pending gives the outcome of a publish in the loop's words.
type pending struct{ bus.Ack }

// Wait implements loop.Ack.
func (p pending) Wait(ctx context.Context) (uint64, error) {
	seq, err := p.Ack.Wait(ctx)
	return seq, classed(err)
}
