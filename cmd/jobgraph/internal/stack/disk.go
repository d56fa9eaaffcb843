package stack

import (
	"context"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
)

const (
	// lookEvery is the interval of checks of the store: a server that cannot write neither reports nor acknowledges anything. It is long
	// because each check wakes an idle process, and because the server's errors bring the next check forward.
	lookEvery = 5 * time.Second
	// lookSoon is the interval while the disk has little room or the server has just logged an error, and the shortest.
	lookSoon = time.Second
	// alertFor is how long an error of the server counts: it may disable its store only a while after it has logged why.
	alertFor = 10 * time.Second
)

const (
	// lowRoom is the free disk space in bytes below which a warning is logged.
	lowRoom = 256 << 20
	// scarceRoom is the free disk space in bytes that may be gone within lookEvery.
	scarceRoom = 8 * lowRoom
)

// vigil decides when the store is checked.
type vigil struct {
	scarce bool      // The disk has little room.
	looked time.Time // The last check.
	alert  time.Time // The end of the time for which the last error counts.
}

// alarm notes an error of the server.
func (v *vigil) alarm(now time.Time) { v.alert = now.Add(alertFor) }

// due returns the time until the next check.
func (v *vigil) due(now time.Time) time.Duration {
	every := lookEvery
	if v.scarce || now.Before(v.alert) {
		every = lookSoon
	}
	return max(0, v.looked.Add(every).Sub(now))
}

// keepSound checks the store until ctx ends. If it cannot be written, the work of all services ends, since nothing could be
// stored, and the stack has failed. Only a restart can reopen the store.
func (k *Stack) keepSound(ctx context.Context) {
	defer close(k.looked)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var v vigil
	low := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.server.Alarms():
			v.alarm(time.Now())
		case <-timer.C:
			if err := k.server.Sound(); err != nil {
				k.giveUp(err)
				return
			}
			low, v.scarce = k.tellRoom(low)
			v.looked = time.Now()
		}
		timer.Reset(v.due(time.Now()))
	}
}

// giveUp ends the work of all services because the store cannot be written.
func (k *Stack) giveUp(err error) {
	k.broken = err
	close(k.broke)
	k.process.Log.Error("cannot write to the store; shutting down", "error", err)
	k.process.Health.Block("store", err.Error())
	k.fail()
	k.endWork()
}

// tellRoom warns when the disk is almost full and returns whether it is, and whether it may be soon; was is whether it was before.
func (k *Stack) tellRoom(was bool) (low, scarce bool) {
	room, err := k.server.Room()
	if err != nil {
		return was, was // A write failure is reported elsewhere.
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
	return low, room < scarceRoom
}
