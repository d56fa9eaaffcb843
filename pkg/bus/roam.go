package bus

import (
	"context"
	"errors"
	"time"
)

const (
	// roamEvery is the interval, and the time limit, of checks whether the server still belongs to its cluster.
	roamEvery = 2 * time.Second
	// roamAfter is how many checks may fail before the server is left: an election is over by then.
	roamAfter = 4
)

// roam leaves a server that is partitioned from its cluster: the connection is up, but nothing can be stored. It ends when
// the connection is closed for good. With a single server there is no alternative. A client that never gets an answer may
// lack the permission to ask, and stays.
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
			_ = b.nc.ForceReconnect() // It fails if the connection was closed, or is reconnecting already.
		}
	}
}

// answers reports whether the leader of the cluster answers through the connected server.
func (b *Bus) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), roamEvery)
	defer cancel()
	_, err := b.js.AccountInfo(ctx)
	return !errors.Is(class(err), ErrUnavailable)
}
