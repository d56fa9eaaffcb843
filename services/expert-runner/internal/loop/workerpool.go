package loop

import (
	"sync"
	"sync/atomic"

	"github.com/jobgraph/jobgraph/pkg/service/queue"
)

// mostIdle bounds the goroutines that wait for work; each keeps its stack.
const mostIdle = 64

// workerPool runs each delivery in a goroutine of its own. Goroutines are kept for later deliveries, since a new one has to grow
// its stack each time.
type workerPool struct {
	turn func() *queue.Delivery
	do   func(*queue.Delivery)
	work chan *queue.Delivery // Unbuffered: a send succeeds only if a goroutine waits. nil stands for a turn to take work.
	idle atomic.Int32
	all  sync.WaitGroup
}

// newWorkerPool makes a worker pool. do runs a delivery; turn takes work and returns what the same goroutine should run, or nil.
func newWorkerPool(turn func() *queue.Delivery, do func(*queue.Delivery)) *workerPool {
	return &workerPool{turn: turn, do: do, work: make(chan *queue.Delivery)}
}

// run starts a delivery, or with nil a turn to take work.
func (c *workerPool) run(d *queue.Delivery) {
	select {
	case c.work <- d:
	default:
		c.all.Go(func() { c.serve(d) }) // Ends when enough other goroutines wait, or with rest.
	}
}

func (c *workerPool) serve(d *queue.Delivery) {
	for more := true; more; {
		if d == nil {
			d = c.turn()
		}
		if d != nil {
			c.do(d)
		}
		if c.idle.Add(1) > mostIdle {
			c.idle.Add(-1)
			return
		}
		d, more = <-c.work
		c.idle.Add(-1)
	}
}

// rest waits for the running deliveries. Nothing may be started afterwards.
func (c *workerPool) rest() {
	close(c.work)
	c.all.Wait()
}
