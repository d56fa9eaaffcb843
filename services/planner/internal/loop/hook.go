package loop

// Point names a boundary between two effects, where a crash may happen.
type Point string

// The boundaries, in the order in which a piece of planning work passes them.
const (
	AtTaken     Point = "taken"     // The work was read; nothing was done yet.
	AtClaim     Point = "claim"     // The run is about to be claimed: a model or a person is needed.
	AtIntent    Point = "intent"    // A call is about to be recorded.
	AtAnswered  Point = "answered"  // The call returned; its answer is not recorded yet.
	AtKept      Point = "kept"      // The answer is recorded.
	AtBlob      Point = "blob"      // The blob of a large plan is about to be stored.
	AtPublish   Point = "publish"   // The fact is about to be published.
	AtPublished Point = "published" // The fact is stored; the work is not acknowledged yet.
	AtAcked     Point = "acked"     // The work is acknowledged.
)

// Points lists every boundary, in the order of the work.
func Points() []Point {
	return []Point{AtTaken, AtClaim, AtIntent, AtAnswered, AtKept, AtBlob, AtPublish, AtPublished, AtAcked}
}

// Hook is called at every boundary. An error ends the loop at once, as a crash would. Nil in production. It must be safe
// for concurrent use.
type Hook func(Point) error

// crash carries a hook's error out of the loop.
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
