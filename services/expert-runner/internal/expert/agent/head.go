package agent

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/artifact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// heads reads the beginning of the predecessors' first artifacts, if they are text, by digest. Deleted ones are left out.
func (r *run) heads(ctx context.Context) (map[string]string, error) {
	results, heads := r.task.Work.Results, map[string]string{}
	left := conversation.MaxHeads
	for _, id := range slices.Sorted(maps.Keys(results)) {
		for _, ref := range results[id].Artifacts {
			if left--; left < 0 {
				return heads, nil
			}
			head := artifact.NewHead(conversation.MaxHead)
			var fault *events.Fault
			err := r.task.Payload(ctx, ref, head)
			if err != nil && !head.Full() && !errors.As(err, &fault) {
				return nil, err
			}
			if fault == nil {
				heads[ref.Digest] = head.Text()
			}
		}
	}
	return heads, nil
}
