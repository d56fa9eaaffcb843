package host_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestEveryCallsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour+time.Minute)
		defer cancel()
		began, calls := time.Now(), []time.Duration{}
		m := host.Every("look", time.Hour, func(context.Context) { calls = append(calls, time.Since(began)) })
		ready := false
		musttest.Do(t, m.Run(ctx, func() { ready = len(calls) == 0 }))
		if !ready || len(calls) != 3 || calls[0] != time.Hour || calls[2] != 3*time.Hour {
			t.Errorf("ready before the first call: %v, calls after %v", ready, calls)
		}
	})
}
