package loop

import "errors"

// Point is a boundary between two effects of a run.
type Point string

// The points, in the order in which a run passes them.
const (
	BeforeClaim   Point = "claim"
	AfterClaim    Point = "claimed"
	AfterExecute  Point = "executed"
	BeforeReport  Point = "report"
	AfterReport   Point = "reported"
	AfterAck      Point = "acknowledged"
	BeforeIntent  Point = "intent"
	BetweenEffect Point = "effect"
	AfterResult   Point = "result"
)

// Points lists every point, in the same order.
func Points() []Point {
	return []Point{BeforeClaim, AfterClaim, AfterExecute, BeforeReport, AfterReport, AfterAck, BeforeIntent, BetweenEffect, AfterResult}
}

// Hook is called at every point; an error ends the run there, as a crash would: nothing is settled, released or published. Nil in
// production.
type Hook func(p Point, run string) error

// errCrash ends a run as if the process had died.
var errCrash = errors.New("crash")

func (l *Loop) at(p Point, r *run) error {
	if l.Hook == nil {
		return nil
	}
	if err := l.Hook(p, r.ID()); err != nil {
		err = errors.Join(errCrash, err)
		r.cancel(err)
		return err
	}
	return nil
}
