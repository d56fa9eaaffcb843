package loop

// Point names a boundary between two effects: a crash is possible before or behind each.
type Point string

// The boundaries of one piece of planning work, in its order.
const (
	AtTaken     Point = "taken"     // The work was read, nothing was done.
	AtClaim     Point = "claim"     // The run is about to be claimed: a model or a person is needed.
	AtIntent    Point = "intent"    // A call is about to be recorded.
	AtAnswered  Point = "answered"  // It was answered; the answer is not recorded.
	AtKept      Point = "kept"      // It is.
	AtBlob      Point = "blob"      // The blob of a large plan is about to be stored.
	AtPublish   Point = "publish"   // The fact is about to be published.
	AtPublished Point = "published" // It is stored; the work is not acknowledged.
	AtAcked     Point = "acked"     // It is.
)

// Points lists every boundary, in the order of the work.
func Points() []Point {
	return []Point{AtTaken, AtClaim, AtIntent, AtAnswered, AtKept, AtBlob, AtPublish, AtPublished, AtAcked}
}

// Hook is called at every boundary; an error ends the loop there and then, as a crash would. Nil in production. It must be
// safe for concurrent use.
type Hook func(Point) error

// crash is the error of a hook on its way out of the loop.
type crash struct{ error }

func (h Hook) at(p Point) error {
	if h == nil {
		return nil
	}
	if err := h(p); err != nil {
		return crash{err}
	}
	return nil
}
