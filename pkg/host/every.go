package host

import (
	"context"
	"time"
)

// Every returns a member that calls f repeatedly, the first time after one interval, until the group stops.
func Every(name string, interval time.Duration, f func(ctx context.Context)) Member {
	return Member{Name: name, Run: func(ctx context.Context, ready func()) error {
		ready()
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
				f(ctx)
			}
		}
	}}
}
