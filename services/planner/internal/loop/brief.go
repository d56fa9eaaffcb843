package loop

import (
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/events/store"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// brief reads what the planning run knows about its job. If its blob is gone or damaged, the brief stays short. After an error the
// caller should try again.
func (t *planningRun) brief() error {
	var rest []byte
	if ref := t.w.BriefRef; ref != nil {
		var err error
		rest, err = t.loop.Blobs.Get(t.ctx, t.w.Job, ref.Digest)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("read brief: %w", err)
		}
	}
	b, err := brief.Read(t.w.Brief, rest)
	if err != nil {
		b, err = brief.Read(t.w.Brief, nil)
	}
	if err != nil {
		t.loop.Logger.Warn("planning without a brief", "job", t.w.Job, "error", err)
		return nil
	}
	if b != nil {
		b.Complete(nil, planning.MaxPlanSteps)
		t.start.Brief = b
	}
	return nil
}
