package bus

import (
	"context"
	"errors"
	"time"
)

const (
	// roamEvery is how often a server of several is asked whether it still belongs to the others, and how long it may take.
	roamEvery = 2 * time.Second
	// roamAfter is how many of these questions may go without an answer: an election is over before.
	roamAfter = 4
)

// roam leaves a server that was cut off from the rest of its cluster: the connection to it stands, and nothing can be stored
// through it. It ends when the connection is closed for good. With one server there is nowhere to go, and who gets no answer
// from any of them may not ask, and stays.
func (b *Bus) roam() {
	defer close(b.roamed)
	tick := time.NewTicker(roamEvery)
	defer tick.Stop()
	for silent, vain := 0, 0; ; {
		select {
		case <-b.closed:
			return
		case <-tick.C:
		}
		servers := len(b.nc.Servers())
		if servers < 2 || !b.nc.IsConnected() {
			silent = 0
			continue
		}
		if b.answers() {
			silent, vain = 0, 0
			continue
		}
		if silent++; silent >= roamAfter && vain < servers {
			silent, vain = 0, vain+1
			b.logger.Warn("server does not answer for its cluster, trying another one", "server", b.nc.ConnectedUrlRedacted())
			_ = b.nc.ForceReconnect() // Closed meanwhile, or reconnecting already.
		}
	}
}

// answers asks the leader of the cluster through the server of this connection.
func (b *Bus) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), roamEvery)
	defer cancel()
	_, err := b.js.AccountInfo(ctx)
	return !errors.Is(class(err), ErrUnavailable)
}
