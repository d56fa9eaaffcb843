package loop

import "fmt"

// phase is the state of a job in a partition's memory. It is independent of saves: a save in progress continues whatever the
// phase.
type phase int

// The phases of a job.
const (
	// cold: no state is in memory, and nothing is in progress. When needed, the job is loaded, or begun with its request.
	cold phase = iota
	// loadQueued: the state waits to be loaded.
	loadQueued
	// loading: the state is being loaded outside the loop.
	loading
	// loadingStale: the same, but the result may lack an event, and will be loaded again.
	loadingStale
	// ready: the state is in memory.
	ready
	// inFlight: the state is in memory, and commands wait for their acks. Until then nothing is applied, sent or saved.
	inFlight
	// inFlightStale: the same, but the state was dropped: it is loaded once the acks have arrived.
	inFlightStale
	// quarantined: the job is not touched until a control event arrives.
	quarantined
	// gone: the job is no longer in the cache. Another job may use its id.
	gone
)

// may reports whether a move is legal.
func (from phase) may(to phase) bool {
	switch from {
	case cold:
		return to == loadQueued || to == ready || to == quarantined || to == gone
	case loadQueued:
		return to == loading
	case loading:
		return to == loadingStale || to == cold
	case loadingStale:
		return to == cold
	case ready:
		return to == inFlight || to == cold || to == gone
	case inFlight:
		return to == ready || to == inFlightStale
	case inFlightStale:
		return to == cold
	case quarantined:
		return to == cold
	}
	return false
}

// String returns the name.
func (from phase) String() string {
	return [...]string{"cold", "load queued", "loading", "loading stale", "ready", "in flight", "in flight stale", "quarantined", "gone"}[from]
}

// illegalMove is a move that phase.may does not allow: a bug in this package.
type illegalMove struct {
	job      string
	from, to phase
}

// Error names the move.
func (m *illegalMove) Error() string {
	return fmt.Sprintf("job %s: %s cannot become %s", m.job, m.from, m.to)
}
