package loop

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// crowd is a pool with a number of places in virtual time, served by a running scheduler.
type crowd struct {
	*market
	mu     sync.Mutex // Guards the market's log, queue and times.
	feed   chan Batch
	more   *sync.Cond // Work was published, or the pool closes.
	places int
	taken  int
	takes  time.Duration
	starts bool // Workers report when a long run has begun.
	closed bool
	began  map[string]time.Time
	blind  bool
}

// newCrowd makes the pool; stop ends scheduler and workers.
func newCrowd(t *testing.T, places int, takes time.Duration, starts, blind bool) (c *crowd, stop func()) {
	c = &crowd{
		market: newMarket(t, 8192), feed: make(chan Batch, 1<<16), places: places, takes: takes, starts: starts, blind: blind,
		began: map[string]time.Time{},
	}
	c.more = sync.NewCond(&c.mu)
	s := strict(t, slog.New(slog.DiscardHandler))
	s.Window = 8192
	c.p = New(s, Ports{
		Publisher: c, Log: c.fake, Sweeper: c.fake, States: c.market, Journals: c.fake, Alarms: c.market, Blobs: c.fake, Meter: c.fake, Queues: c,
	})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := c.p.Run(ctx, c.feed); err != nil {
			t.Error(err)
		}
	})
	for range places {
		all.Go(c.worker)
	}
	return c, func() {
		c.mu.Lock()
		c.closed = true
		c.more.Broadcast()
		c.mu.Unlock()
		cancel()
		all.Wait()
	}
}

// Publish stores a message and makes it available to workers.
func (c *crowd) Publish(m events.Message, e Expect) Ack {
	c.mu.Lock()
	defer c.mu.Unlock()
	ack := c.market.Publish(m, e)
	c.more.Broadcast()
	return ack
}

// Depth returns the queue as the broker sees it.
func (c *crowd) Depth(context.Context, string) (Depth, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blind {
		return Depth{}, fmt.Errorf("not permitted")
	}
	return Depth{Pending: len(c.queues["default"]), Taken: c.taken, Idle: c.taken < c.places}, nil
}

// say stores an event and delivers it; the caller holds the lock.
func (c *crowd) say(job string, kind events.Kind, subjob string, run int, data any) {
	c.event(job, kind, subjob, run, data)
	c.deliver()
}

func (c *crowd) deliver() {
	c.feed <- Batch{Deliveries: c.batch}
	c.batch = nil
}

// ask submits a job; it takes the lock.
func (c *crowd) ask(job, session string, steps int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.submit(job, session, 0, steps)
	c.deliver()
}

// worker is one place: it takes a run, works on it and reports.
func (c *crowd) worker() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for len(c.queues["default"]) == 0 && !c.closed {
			c.more.Wait()
		}
		if c.closed {
			return
		}
		parts := strings.Split(c.queues["default"][0], ".")
		c.queues["default"] = c.queues["default"][1:]
		c.taken++
		job, subjob := parts[4], parts[5]
		run, _ := strconv.Atoi(parts[6]) // The subject is one of ours.
		c.began[job+"/"+subjob] = time.Now()
		left := c.takes
		if c.starts && left > 50*time.Millisecond {
			c.pass(50 * time.Millisecond)
			left -= 50 * time.Millisecond
			c.say(job, events.KindSubJobStarted, subjob, run, &events.SubJobStarted{})
		}
		c.pass(left)
		c.taken--
		c.say(job, events.KindSubJobReported, subjob, run, success)
	}
}

// pass lets time pass without holding the lock.
func (c *crowd) pass(d time.Duration) {
	c.mu.Unlock()
	<-time.After(d)
	c.mu.Lock()
}

// begun returns when a step's work began, zero before.
func (c *crowd) begun(step string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.began[step]
}

func TestAJobBehindAFloodOfSlowStepsWaitsForAboutOneOfThem(t *testing.T) {
	pools := []int{1, 3, 16, 64}
	if testing.Short() {
		pools = []int{1, 16}
	}
	for _, takes := range []time.Duration{3 * time.Second, time.Minute} {
		for _, places := range pools {
			for _, starts := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v, %d places, starts %v", takes, places, starts), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c, stop := newCrowd(t, places, takes, starts, false)
						defer stop()
						begin := time.Now()
						steps := 12 * places
						c.ask("flood", "greedy", steps)
						for i, arrives := range []time.Duration{takes / 10, 2 * takes, 5 * takes / 2, 31 * takes / 10} {
							<-time.After(arrives)
							name := "modest" + strconv.Itoa(i)
							asked := time.Now()
							c.ask(name, name, 1)
							<-time.After(takes + time.Second)
							if at := c.begun(name + "/s0"); at.IsZero() {
								t.Errorf("the other session's step had not begun %v after it was asked for", time.Since(asked))
							}
						}
						for i := range steps {
							for c.begun("flood/s"+strconv.Itoa(i)).IsZero() && time.Since(begin) < 100*takes {
								<-time.After(takes / 10)
							}
						}
						// 12 rounds of the flood and at most 4 of the others; while there is work, places stay empty only for
						// moments.
						if took, most := time.Since(begin), 18*takes+18*takes/10; took > most {
							t.Errorf("the flood began its last step after %v, at most %v", took, most)
						}
					})
				})
			}
		}
	}
}

// If the scheduler may not read a queue, the window is what the pool executes in a second, within bounds.
func TestAQueueThatCannotBeReadIsBoundedByThePaceOfItsPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := newCrowd(t, 16, 3*time.Second, true, true)
		defer stop()
		c.ask("flood", "greedy", 1000)
		<-time.After(91 * time.Second)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.longest > blindFirst {
			t.Errorf("%d runs stood in the queue", c.longest)
		}
		if queued := len(c.queues["default"]); queued > blindLeast {
			t.Errorf("%d runs stand in the queue", queued)
		}
		if len(c.began) < 16*30 {
			t.Errorf("%d runs began in 91 s on 16 places of 3 s each", len(c.began))
		}
	})
}

// New places, such as those of a second runner, get work at once.
func TestAPoolThatGrowsIsFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := newCrowd(t, 2, time.Minute, true, false)
		defer stop()
		c.ask("flood", "greedy", 100)
		<-time.After(10 * time.Second)
		var more sync.WaitGroup
		defer more.Wait()
		defer stop()
		c.mu.Lock()
		c.places += 30
		c.mu.Unlock()
		for range 30 {
			more.Go(c.worker)
		}
		<-time.After(5 * time.Second)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.taken != 32 {
			t.Errorf("%d of 32 places work", c.taken)
		}
	})
}

// For a pool of quick runs, the pace is known without reading its queue.
func TestTheWindowOfAQuickPoolOpensAsItsRunsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := newCrowd(t, 1, time.Microsecond, true, false)
		defer stop()
		begin, runs := time.Now(), 10_000
		if testing.Short() {
			runs = 2000
		}
		c.ask("flood", "greedy", runs)
		for c.begun("flood/s"+strconv.Itoa(runs-1)).IsZero() && time.Since(begin) < time.Minute {
			<-time.After(time.Millisecond)
		}
		if took, most := time.Since(begin), time.Duration(runs)*2*time.Microsecond; took > most {
			t.Errorf("%d runs of a microsecond took %v, more than %v", runs, took, most)
		}
	})
}
