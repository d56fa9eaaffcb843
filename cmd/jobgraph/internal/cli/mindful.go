package cli

import (
	"context"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
)

// silence is how long a command waits without an event before it checks whether a scheduler is running. It checks at
// --timeout as well.
const silence = 3 * time.Second

// mindful tells a person who has waited for a while if no scheduler answers. stop ends the check, and returns when it
// has ended.
func (a *app) mindful(ctx context.Context, c *client.Client) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { // Ends with ctx, which stop cancels; stop waits for it.
		defer close(done)
		timer := time.NewTimer(silence)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			if !errors.Is(context.Cause(a.soft), errTimeout) {
				return
			}
		}
		probe, end := context.WithTimeout(a.hard, silence)
		defer end()
		if _, _, err := c.Bus().Services().Request(probe, c.Names().API("list"), []byte(`{"limit":1}`)); errors.Is(err, bus.ErrUnavailable) {
			a.note("no scheduler answers on %s: nothing moves until one is there (jobgraph up, or the scheduler service); what was asked for is kept, Ctrl-C or --timeout ends only this wait", c.Names().API("list"))
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
