package loop

import (
	"sync"
	"sync/atomic"
)

// mostIdle bounds the goroutines that wait for work; each keeps its stack.
const mostIdle = 64

// crew runs deliveries, each in a goroutine that it has to itself. Goroutines are kept for the next delivery: a new one
// grows its stack again for each.
type crew struct {
	turn func() *Delivery
	do   func(*Delivery)
	work chan *Delivery // Unbuffered: a send finds a goroutine that waits, or there is none. Nil is the turn to take work.
	idle atomic.Int32
	all  sync.WaitGroup
}

// newCrew makes a crew. do runs a delivery; turn takes work and gives what is to be run by the same goroutine, or nil.
func newCrew(turn func() *Delivery, do func(*Delivery)) *crew {
	return &crew{turn: turn, do: do, work: make(chan *Delivery)}
}

// run begins a delivery, or with nil the turn to take work.
func (c *crew) run(d *Delivery) {
	select {
	case c.work <- d:
	default:
		c.all.Go(func() { c.serve(d) }) // Ends when enough others wait, at the latest with rest.
	}
}

func (c *crew) serve(d *Delivery) {
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

// rest waits for the deliveries under way. Nothing may be run afterwards.
func (c *crew) rest() {
	close(c.work)
	c.all.Wait()
}
