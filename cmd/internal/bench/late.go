package bench

import (
	"iter"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// lateness counts what the logs of stopped jobs contain after the request to stop.
type lateness struct {
	// said counts results, applied those that had an effect: that completed a SubJob or finished a job.
	said, applied int
	// tokens are the tokens charged in that time.
	tokens int64
}

// read adds the counts of one log.
func (l *lateness) read(log iter.Seq2[events.Event, error]) error {
	asked := uint64(0)
	for e, err := range log {
		if err != nil {
			return err
		}
		switch data := e.Data.(type) {
		case *events.StopRequested:
			asked = e.Seq
		case *events.SubJobReported:
			if asked > 0 {
				l.tokens += data.Tokens
				if data.Outcome == events.Success {
					l.said++
				}
			}
		case *events.JobAdvanced:
			for _, t := range data.Transitions {
				if asked > 0 && t.Transition == "completed" && t.SubJob == hungID {
					l.applied++
				}
			}
		case *events.JobEnded:
			if asked > 0 && e.Kind == events.KindJobFinished {
				l.applied++
			}
		}
	}
	return nil
}
