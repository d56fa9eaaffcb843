package loop

import "fmt"

// phase is where a job stands in a partition's memory. What is saved of it is another matter: a save goes on whatever becomes of the job.
type phase int

// The phases of a job.
const (
	// cold: there is no state in memory, and nothing is under way. The next look at the job loads it, or begins it with its request.
	cold phase = iota
	// loadQueued: the state is going to be read.
	loadQueued
	// loading: the state is read, beside the loop.
	loading
	// loadingStale: the same, but what is read may lack something by now, and is read again.
	loadingStale
	// ready: the state is in memory.
	ready
	// inFlight: the state is in memory, and commands of it wait for their acks. Nothing is applied, said or saved until they are here.
	inFlight
	// inFlightStale: the same, but the state has been dropped: when the acks are here it is loaded.
	inFlightStale
	// quarantined: the job is left alone until a control event comes.
	quarantined
	// gone: the job is no longer in the cache. The next one with its id is another job.
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

// String gives the name.
func (from phase) String() string {
	return [...]string{"cold", "load queued", "loading", "loading stale", "ready", "in flight", "in flight stale", "quarantined", "gone"}[from]
}

// illegalMove is a move that phase.may does not allow: a fault of this package.
type illegalMove struct {
	job      string
	from, to phase
}

// Error names the move.
func (m *illegalMove) Error() string {
	return fmt.Sprintf("job %s: %s cannot become %s", m.job, m.from, m.to)
}
