package stack

import (
	"context"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
)

// lookEvery is how often the store is looked at: a server that cannot write says nothing and acknowledges nothing.
const lookEvery = time.Second

// lowRoom is how few free bytes on the disk of the store are worth a word.
const lowRoom = 256 << 20

// keepSound looks at the store until ctx ends. One that cannot be written ends the work of all services, since nothing that they do
// could be kept, and the stack has failed. Only a start opens a store again.
func (k *Stack) keepSound(ctx context.Context) {
	defer close(k.looked)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	low := false
	for {
		if err := k.server.Sound(); err != nil {
			k.broken = err
			close(k.broke)
			k.process.Log.Error("store cannot be written: everything ends", "error", err)
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

// tellRoom says when the disk is about to be full, and gives whether it was; was is what it gave before.
func (k *Stack) tellRoom(was bool) (low bool) {
	room, err := k.server.Room()
	if err != nil {
		return was // What cannot be written is told anyway.
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
