package loop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

func TestAReconnectRenewsAtOnceAndARunIsToldToHaveBegunAllTheSame(t *testing.T) {
	const early, begun = 10 * time.Millisecond, time.Second
	tests := map[string]struct {
		lasts, renewed time.Duration
		want           []string
	}{
		"before it is told": {begun, early, []string{"claimed 1 10s", "renewed 1 10s", "subjob.started 1", "reported 1 0s", "subjob.reported 1"}},
		"of a short run":    {2 * early, early, []string{"claimed 1 10s", "renewed 1 10s", "reported 1 0s", "subjob.reported 1"}},
		"after it was told": {2 * begun, begun, []string{"claimed 1 10s", "subjob.started 1", "renewed 1 10s", "reported 1 0s", "subjob.reported 1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newPorts(time.Millisecond)
				var l *Loop
				l = w.loop(jobrun.Effect{}, func(ctx context.Context, k *expert.Task) task.Ending {
					_ = lease.Pause(ctx, test.renewed)
					l.Renew()
					return lasts(test.lasts-test.renewed)(ctx, k)
				})
				w.give(t.Context(), t, l, 1)
				check(t, w, test.want...)
			})
		})
	}
}
