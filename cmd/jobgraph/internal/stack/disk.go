package stack

import (
	"context"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
)

// lookEvery is the interval of checks of the store: a server that cannot write neither reports nor acknowledges anything.
const lookEvery = time.Second

// lowRoom is the free disk space in bytes below which a warning is logged.
const lowRoom = 256 << 20

// keepSound checks the store until ctx ends. If it cannot be written, the work of all services ends, since nothing could be
// stored, and the stack has failed. Only a restart can reopen the store.
func (k *Stack) keepSound(ctx context.Context) {
	defer close(k.looked)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	low := false
	for {
		if err := k.server.Sound(); err != nil {
			k.broken = err
			close(k.broke)
			k.process.Log.Error("cannot write to the store; shutting down", "error", err)
			k.process.Health.Block("store", err.Error())
			k.fail()
			k.endWork()
			return
		}
		low = k.tellRoom(low)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tellRoom warns when the disk is almost full and returns whether it is; was is its previous result.
func (k *Stack) tellRoom(was bool) (low bool) {
	room, err := k.server.Room()
	if err != nil {
		return was // A write failure is reported elsewhere.
	}
	low = room < lowRoom
	if low {
		k.process.Health.Note("store", fmt.Sprintf("%d MiB are free on its disk", room>>20))
	} else {
		k.process.Health.Unnote("store")
	}
	if room < embed.LeastRoom {
		k.process.Health.Block("store", "its disk is full")
	} else {
		k.process.Health.Clear("store")
	}
	if dir, _ := k.server.Store(); low && !was {
		k.process.Log.Warn("disk of the store is nearly full", "store", dir, "free_mib", room>>20)
	}
	return low
}
