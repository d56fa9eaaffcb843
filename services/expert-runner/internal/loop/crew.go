package loop

import (
	"sync"
	"sync/atomic"
)

// mostIdle bounds the goroutines that wait for work.
const mostIdle = 256

// crew runs deliveries, each in a goroutine that it has to itself. Goroutines are kept for the next delivery: a new one
// grows its stack anew for each.
type crew struct {
	do   func(*Delivery)
	work chan *Delivery // Unbuffered: a send finds a goroutine that waits, or there is none.
	idle atomic.Int32
	all  sync.WaitGroup
}

func newCrew(do func(*Delivery)) *crew {
	return &crew{do: do, work: make(chan *Delivery)}
}

// run begins a delivery.
func (c *crew) run(d *Delivery) {
	select {
	case c.work <- d:
	default:
		c.all.Go(func() { c.serve(d) }) // Ends when enough others wait, at the latest with rest.
	}
}

func (c *crew) serve(d *Delivery) {
	for more := true; more; {
		c.do(d)
		if c.idle.Add(1) > mostIdle {
			c.idle.Add(-1)
			return
		}
		d, more = <-c.work
		c.idle.Add(-1)
	}
}

// rest waits for the deliveries under way. Nothing may be run afterwards.
func (c *crew) rest() {
	close(c.work)
	c.all.Wait()
}
