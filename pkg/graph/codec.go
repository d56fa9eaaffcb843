package graph

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// ErrFold means that another version wrote the state: discard it and fold the log.
var ErrFold = errors.New("the state was saved by another version of the fold")

// MarshalJSON writes the saved form.
func (j *Job) MarshalJSON() ([]byte, error) { return j.View().marshal() }

// UnmarshalJSON reads the saved form. It does not contain what this process has delivered: all commands are pending again.
func (j *Job) UnmarshalJSON(data []byte) error {
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	*j = Job{State: s}
	j.assemble()
	j.outbox.restore()
	j.waits.restore()
	j.dag.restore(s.SubJobs)
	j.runs.restore()
	return nil
}

// check reports why a saved state cannot be continued.
func (s *State) check() error {
	if s.Fold != FoldVersion {
		return fmt.Errorf("%w: %d, this one is %d", ErrFold, s.Fold, FoldVersion)
	}
	if len(s.SubJobs) == 0 || s.SubJobs[0].ID != events.PlanID {
		return fmt.Errorf("%w: no planning node", ErrFold)
	}
	for _, n := range s.SubJobs {
		for _, at := range n.Deps {
			if at < 0 || int(at) >= len(s.SubJobs) {
				return fmt.Errorf("%w: %s depends on node %d", ErrFold, n.ID, at)
			}
		}
	}
	return nil
}
