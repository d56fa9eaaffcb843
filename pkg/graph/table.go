package graph

import (
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Move is one legal move of a SubJob: from a status, on an event, to a status.
type Move struct {
	From events.Status
	On   []events.Kind
	To   events.Status
	// Why is one sentence for the documentation.
	Why string
}

// The events that cause the moves, by what they do.
var (
	// closers can end the job, or make a SubJob impossible, and so stop what is live.
	closers = []events.Kind{
		events.KindSubJobReported, events.KindGraphCreated, events.KindPlanRejected, events.KindJobAnswered,
		events.KindInputRequested, events.KindInputClosed, events.KindTimerFired, events.KindStopRequested, events.KindFailRequested,
	}
	// endings are what a run can publish last, in time or late; a late one ends the fence of its run.
	endings = []events.Kind{
		events.KindSubJobReported, events.KindGraphCreated, events.KindPlanRejected, events.KindJobAnswered,
		events.KindInputRequested,
	}
	// releasers are events after which a SubJob may be able to start.
	releasers = append(slices.Clone(endings), events.KindPlanEdited, events.KindRecoverRequested, events.KindRetryRequested,
		events.KindRerunRequested, events.KindTimerFired, events.KindSubJobClosed)
	// planners are the events that change the graph.
	planners = []events.Kind{events.KindGraphCreated, events.KindPlanEdited}
	// resetters reset live work because a predecessor changes; revivers resume ended work.
	resetters = []events.Kind{events.KindSubJobReported, events.KindRerunRequested, events.KindGraphCreated, events.KindPlanEdited}
	revivers  = []events.Kind{events.KindRecoverRequested, events.KindRetryRequested, events.KindRerunRequested, events.KindGraphCreated, events.KindPlanEdited}
	// failures end a run without a result; a planner's rejection is final.
	failures = []events.Kind{events.KindSubJobReported, events.KindGraphCreated, events.KindJobAnswered, events.KindInputRequested}
	reported = []events.Kind{events.KindSubJobReported}
	asked    = []events.Kind{events.KindInputRequested}
)

// Moves returns the table of legal moves of SubJobs: the diagram in the documentation is generated from it, and every transition
// of every test is checked against it.
func Moves() []Move { return moves }

var moves = []Move{
	{events.Created, releasers, events.Ready, "Every predecessor is done: a run is issued, or waits for a free place."},
	{events.Created, releasers, events.Finished, "The result came with the plan, or the condition does not hold and the step is skipped."},
	{events.Created, closers, events.Stopped, "The job ended, or a predecessor failed, before it began."},
	{events.Created, []events.Kind{events.KindFailRequested}, events.Failed, "A person declared it failed."},
	{events.Created, planners, events.Legacy, "A re-plan or an edit took it out of the graph."},
	{events.Ready, []events.Kind{events.KindSubJobStarted}, events.Running, "Its run is being worked on."},
	{events.Ready, reported, events.Finished, "Its run reported SUCCESS."},
	{events.Ready, failures, events.Waiting, "Its run ended without a result and is retried after a back-off."},
	{events.Ready, asked, events.Waiting, "Its run asked a person, or for a moment, and gave its work back."},
	{events.Ready, append(slices.Clone(endings), events.KindFailRequested), events.Failed, "Its retries or its life cycle ran out, its split was rejected, or a person declared it failed."},
	{events.Ready, closers, events.Stopped, "The job ended while it was ready."},
	{events.Ready, resetters, events.Created, "A predecessor runs again, a person wants it again, or its text has changed: the run is closed."},
	{events.Ready, planners, events.Legacy, "A split, a re-plan or an edit replaced it."},
	{events.Running, reported, events.Finished, "Its run reported SUCCESS."},
	{events.Running, append(slices.Clone(failures), events.KindTimerFired), events.Waiting, "Its run ended without a result, or took too long, and is retried after a back-off."},
	{events.Running, asked, events.Waiting, "Its run asked a person, or for a moment, and gave its work back."},
	{events.Running, append(slices.Clone(failures), events.KindTimerFired), events.Ready, "Its next run is issued at once: without a back-off, or to split it."},
	{events.Running, append(slices.Clone(endings), events.KindTimerFired, events.KindFailRequested), events.Failed, "Its retries or its life cycle ran out, its split was rejected, or a person declared it failed."},
	{events.Running, closers, events.Stopped, "The job ended while it ran: the run is closed and its worker told."},
	{events.Running, resetters, events.Created, "A predecessor runs again, a person wants it again, or its text has changed: the run is closed."},
	{events.Running, planners, events.Legacy, "A split, a re-plan or an edit replaced it."},
	{events.Waiting, append(slices.Clone(endings), events.KindPlanEdited, events.KindTimerFired, events.KindInputClosed, events.KindSubJobClosed), events.Ready, "The back-off has passed, the answer is there, the former run is over, or the graph is planned again."},
	{events.Waiting, []events.Kind{events.KindInputClosed, events.KindFailRequested}, events.Failed, "The answer did not come in time, the question was cancelled, or a person declared it failed."},
	{events.Waiting, closers, events.Stopped, "The job ended while it waited."},
	{events.Waiting, resetters, events.Created, "A predecessor runs again, a person wants it again, or its text has changed."},
	{events.Waiting, planners, events.Legacy, "A re-plan or an edit replaced it."},
	{events.Finished, append(slices.Clone(reported), events.KindRerunRequested, events.KindRecoverRequested, events.KindRetryRequested), events.Created, "A successor could not use its result, or a person wants it again: the result becomes a legacy version."},
	{events.Finished, planners, events.Legacy, "A re-plan or an edit took it out of the graph."},
	{events.Failed, revivers, events.Created, "The job was recovered, the SubJob retried by hand, or a later plan names it again."},
	{events.Failed, planners, events.Legacy, "A re-plan or an edit replaced it."},
	{events.Stopped, revivers, events.Created, "The job was recovered, the SubJob retried by hand, or a later plan names it again."},
	{events.Stopped, planners, events.Legacy, "A re-plan or an edit replaced it."},
	{events.Legacy, planners, events.Created, "A later plan names it again."},
}

var legalMoves = func() (m [len(statuses)][len(statuses)]bool) {
	for _, move := range moves {
		m[place(move.From)][place(move.To)] = true
	}
	return m
}()

func legal(from, to events.Status) bool { return legalMoves[place(from)][place(to)] }
