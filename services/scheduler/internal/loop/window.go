package loop

import (
	"cmp"
	"context"
	"time"
)

// Depth is the state of a pool's queue on the bus.
type Depth struct {
	// Pending counts runs that no worker has fetched; Taken counts runs that workers are executing.
	Pending, Taken int
	// Idle is true when a worker waits for work.
	Idle bool
}

// Queues reads the queues of pools.
type Queues interface {
	// Depth reads the queue of a pool. Errors: those of the bus.
	Depth(ctx context.Context, pool string) (Depth, error)
}

// window is the backpressure window of one pool: how many runs may be published and unfinished. It follows what workers take, so
// that a new job waits for about one run instead of everything that an earlier flood has put in front of it.
//
// A pool of quick runs shows its pace by runs that end within quickRun, in the order in which they were admitted: the window
// doubles as long as half of it ends like that within a second. The queue of a pool of slow runs has to be read: the readings tell
// whether a worker waits. If the queue cannot be read, the window follows the pace alone and never falls below blindLeast.
type window struct {
	*env
	// most is the window; Settings.Window bounds it.
	most int
	// queued and running count the runs in the window, according to the jobs of this partition.
	queued, running int
	// ended counts the runs that have ended since the time in the field since; quick counts the quick ones among them, left those
	// that have left the queue.
	ended, quick, left int
	since              time.Time
	// entered are the admitted runs by time, oldest first.
	entered []cohort
	// rate is how many runs the pool finishes per second, averaged over about rateOver, because runs that began together end
	// together.
	rate float64
	// measured is true while readings succeed.
	measured bool
	// The next reading is due at next, and pause is the interval.
	reading readingState
	next    time.Time
	pause   time.Duration
	// step is how many runs the next reading may admit: 0 means as many as workers hold, until a reading has found all workers
	// busy.
	step int
}

// readingState is the state of the reading of a queue.
type readingState int

const (
	notReading readingState = iota
	// readingQuiet: a reading is under way, and no run has ended since it began.
	readingQuiet
	// readingMoved: a reading is under way, and runs have ended since it began.
	readingMoved
)

// cohort is a group of runs that were admitted at the same time.
type cohort struct {
	at   time.Time
	runs int
}

const (
	// blindFirst and blindLeast are the window, in runs, of a pool whose queue cannot be read: initially, and at least, so that the
	// next run is always available.
	blindFirst = 256
	blindLeast = 64
	// The interval of readings while work waits: shorter after a change in the pool, longer while nothing changes.
	readingFirst = 5 * time.Millisecond
	readingMost  = 250 * time.Millisecond
	// The time over which the rate of a pool is averaged.
	rateOver = 10 * time.Second
	// A run that ends within this time is quick. A runner publishes the start of longer runs.
	quickRun = 50 * time.Millisecond
)

// newWindow begins with one run if the queue can be read, since the first reading comes soon.
func newWindow(e *env, measured bool) window {
	w := window{env: e, measured: measured, most: 1, pause: readingFirst}
	if !measured {
		w.most = min(blindFirst, w.Window)
	}
	return w
}

// full reports whether no further run may be published.
func (w *window) full() bool {
	if !w.measured {
		return w.queued >= w.most
	}
	return w.queued+w.running >= w.most
}

// enter counts runs that are published now.
func (w *window) enter(now time.Time, runs int) {
	w.queued += runs
	if last := len(w.entered) - 1; last >= 0 && w.entered[last].at.Equal(now) {
		w.entered[last].runs += runs
		return
	}
	w.entered = append(w.entered, cohort{now, runs})
}

// change replaces a job's share of the window.
func (w *window) change(now time.Time, had, has use) {
	if more := has.queued - had.queued; more > 0 {
		w.enter(now, more)
	} else {
		w.queued += more
		w.left -= more
	}
	w.running += has.running - had.running
	ended := max(0, had.queued+had.running-has.queued-has.running)
	w.ended += ended
	if ended > 0 && w.reading == readingQuiet {
		w.reading = readingMoved
	}
	w.quick += w.leave(now, ended)
	if ended > 0 || has.queued < had.queued {
		w.pause = readingFirst
	}
}

// drop removes a job's share of the window: its state is no longer in memory.
func (w *window) drop(had use) {
	w.queued -= had.queued
	w.running -= had.running
	w.leave(time.Time{}, had.queued+had.running)
}

// leave removes the runs that came first, and returns how many of them were quick.
func (w *window) leave(now time.Time, runs int) (quick int) {
	for runs > 0 && len(w.entered) > 0 {
		first := &w.entered[0]
		n := min(runs, first.runs)
		if now.Sub(first.at) < quickRun {
			quick += n
		}
		if first.runs -= n; first.runs == 0 {
			w.entered = w.entered[1:]
		}
		runs -= n
	}
	return quick
}

// pace adapts the window to the runs that ended; waits is true while a job has more work.
func (w *window) pace(now time.Time, waits bool) {
	stood := now.Sub(w.since)
	if !w.measured {
		w.paceBlind(now, stood, waits)
		return
	}
	switch {
	case !waits:
		w.most = max(w.most, 1) // With a window of 0, no further run could be admitted.
		w.reset(now)
	case w.quick > 0 && 2*w.quick >= w.most && stood < time.Second:
		w.most = min(2*w.most, w.Window)
		w.reset(now)
	}
}

// paceBlind is pace without readings: a window that was half empty at the beginning of a step, or half taken within a second, was
// too small; one that did not change for a second is reduced to the runs that have left it.
func (w *window) paceBlind(now time.Time, stood time.Duration, waits bool) {
	switch {
	case waits && (2*w.queued <= w.most || 2*w.left >= w.most && stood < time.Second):
		w.most = min(2*w.most, w.Window)
	case waits && stood < time.Second:
		return
	case waits:
		w.most = min(max(int(float64(w.left)/stood.Seconds()), blindLeast), w.Window)
	}
	w.reset(now)
}

func (w *window) reset(now time.Time) { w.ended, w.quick, w.left, w.since = 0, 0, 0, now }

// due reports whether the queue should be read now; waits is true while a job has more work than fits.
func (w *window) due(now time.Time, waits bool) bool {
	return waits && w.full() && w.reading == notReading && !now.Before(w.next)
}

// ask marks the beginning of a reading, and returns how many runs are in the window.
func (w *window) ask() (inside int) {
	w.reading = readingQuiet
	return w.queued + w.running
}

// read applies a reading that began with asked runs in the window. If workers have every published run and a worker waits, there is
// room for as many again: at worst, the queue then holds fewer runs than the pool executes at once. After a reading that found all
// workers busy there is room for one more, then two, then four: a worker may seem idle because its next run is on the way. If the
// window has not changed for a second, it is reduced to the runs that workers hold plus those that the pool ends in a second.
func (w *window) read(now time.Time, asked int, d Depth, err error) {
	quiet := w.reading == readingQuiet
	w.reading = notReading
	w.next, w.pause = now.Add(w.pause), min(2*w.pause, readingMost)
	if err != nil {
		if w.measured {
			w.measured, w.most = false, max(w.most, min(blindLeast, w.Window))
			w.reset(now)
		}
		return
	}
	w.measured = true
	if d.Pending > 0 || !d.Idle {
		w.step = 1
	}
	inside := w.queued + w.running
	stood := now.Sub(w.since)
	switch {
	case d.Pending == 0 && d.Idle && quiet && d.Taken >= max(inside, asked):
		step := cmp.Or(w.step, max(1, d.Taken))
		w.step *= 2
		w.most = min(max(w.most, inside+step), w.Window)
		w.reset(now)
	case stood >= time.Second:
		w.rate += (float64(w.ended)/stood.Seconds() - w.rate) * min(1, stood.Seconds()/rateOver.Seconds())
		w.most = min(max(0, inside-d.Pending)+int(w.rate), w.Window)
		w.reset(now)
	}
}
