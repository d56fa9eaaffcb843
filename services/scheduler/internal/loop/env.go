package loop

import (
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// env is what the parts of a partition share: settings, ports, and the time of the step. The parts do not change it.
type env struct {
	Settings
	Ports
	// now is when the step began. Only Partition sets it.
	now time.Time
}

// pooled is the pool that the subjects of a run name; "" for none.
func (e *env) pooled(pool string) string {
	if !e.Pooled || pool == events.PlannerPool || pool == schedule.Pool {
		return ""
	}
	return pool
}

// at calls the hook, if there is one, at a boundary between two effects. Its error is an errCrash.
func (e *env) at(point Point) error {
	if e.Hook == nil {
		return nil
	}
	if err := e.Hook(point); err != nil {
		return errCrash{err}
	}
	return nil
}

// errCrash marks an error of the hook. It ends the partition, and is never contained like a fault of a single job.
type errCrash struct{ error }

func (e errCrash) Unwrap() error { return e.error }

func crashed(err error) bool {
	if err == nil {
		return false // This saves the allocation in errors.As.
	}
	var crash errCrash
	return errors.As(err, &crash)
}

// publish hands a message to the connection, after the hook. The ack tells later whether the broker has stored it.
func (e *env) publish(m events.Message, expect Expect) (Ack, error) {
	if err := e.at(AtPublish); err != nil {
		return nil, err
	}
	return e.Publisher.Publish(m, expect), nil
}
