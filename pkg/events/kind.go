package events

import "strings"

// Kind names a fact: "<noun>.<verb in the past>". The CloudEvents type is io.jobgraph.<kind>.v1.
type Kind string

// Events that the fold applies.
const (
	KindJobRequested     Kind = "job.requested"
	KindGraphCreated     Kind = "graph.created"
	KindPlanRejected     Kind = "plan.rejected"
	KindJobAnswered      Kind = "job.answered"
	KindInputRequested   Kind = "input.requested"
	KindInputClosed      Kind = "input.closed"
	KindSubJobStarted    Kind = "subjob.started"
	KindSubJobProgressed Kind = "subjob.progressed"
	KindSubJobReported   Kind = "subjob.reported"
	KindSubJobClosed     Kind = "subjob.closed"
	KindTimerFired       Kind = "timer.fired"
	KindStopRequested    Kind = "stop.requested"
	KindRecoverRequested Kind = "recover.requested"
	KindFailRequested    Kind = "fail.requested"
	KindRetryRequested   Kind = "retry.requested"
	KindRerunRequested   Kind = "rerun.requested"
	KindPlanEdited       Kind = "plan.edited"
	KindJobPlanning      Kind = "job.planning"
	KindJobWaiting       Kind = "job.waiting"
	KindJobRunning       Kind = "job.running"
	KindJobFinalizing    Kind = "job.finalizing"
	KindJobFinished      Kind = "job.finished"
	KindJobFailed        Kind = "job.failed"
	KindJobStopped       Kind = "job.stopped"
	KindJobRecovered     Kind = "job.recovered"
	KindGraphReplaced    Kind = "graph.replaced"
	KindJobAdvanced      Kind = "job.advanced"
	KindSessionStarted   Kind = "session.started"
	KindSessionEnded     Kind = "session.ended"
)

// Definition describes a kind.
type Definition struct {
	Kind      Kind       // Kind is the name of the kind.
	New       func() any // New returns an empty payload to decode into.
	Control   bool       // Control events share the single subject ….control of their job.
	Run       bool       // Run events have SubJob and run as the last two tokens of their subject.
	Skippable bool       // Skippable kinds may be skipped by a reader that does not know them; other unknown kinds stop the processing of the job.
	Doc       string     // Doc is one sentence for the generated documentation.
}

// Definitions lists every kind, in the order of the documentation.
func Definitions() []Definition { return definitions }

// Define returns the definition of a kind; ok is false if this version does not know it.
func Define(k Kind) (Definition, bool) {
	d, ok := byKind[k]
	return d, ok
}

func payload[T any]() any { return new(T) }

var definitions = []Definition{
	{Kind: KindJobRequested, New: payload[JobRequested], Doc: "A job was admitted, with every limit and policy resolved."},
	{Kind: KindGraphCreated, New: payload[GraphCreated], Run: true, Doc: "A planning run made a checked JobGraph, for the whole job or in place of one SubJob."},
	{Kind: KindPlanRejected, New: payload[PlanRejected], Run: true, Doc: "A planning run found no valid plan."},
	{Kind: KindJobAnswered, New: payload[JobAnswered], Run: true, Doc: "A planning run answered the job without a graph."},
	{Kind: KindInputRequested, New: payload[InputRequested], Run: true, Doc: "A run waits for a person or a moment, and gave its work message back."},
	{Kind: KindInputClosed, New: payload[InputClosed], Doc: "A request for input was answered, has expired or was cancelled."},
	{Kind: KindSubJobStarted, New: payload[SubJobStarted], Run: true, Skippable: true, Doc: "A run has lasted 50 ms and is still at work."},
	{Kind: KindSubJobProgressed, New: payload[SubJobProgressed], Run: true, Skippable: true, Doc: "A milestone of a run."},
	{Kind: KindSubJobReported, New: payload[SubJobReported], Run: true, Doc: "A run ended with one of the four outcomes."},
	{Kind: KindSubJobClosed, New: payload[SubJobClosed], Run: true, Doc: "The scheduler has closed a run in its journal: it cannot be claimed any more."},
	{Kind: KindTimerFired, New: payload[TimerFired], Doc: "An armed timer came due."},
	{Kind: KindStopRequested, New: payload[StopRequested], Control: true, Doc: "A request to stop a job or a SubJob."},
	{Kind: KindRecoverRequested, New: payload[RecoverRequested], Control: true, Doc: "A request to resume a stopped or failed job."},
	{Kind: KindFailRequested, New: payload[FailRequested], Control: true, Doc: "A request to declare a job or a SubJob failed."},
	{Kind: KindRetryRequested, New: payload[RetryRequested], Control: true, Doc: "A request to run a failed or stopped SubJob again."},
	{Kind: KindRerunRequested, New: payload[RerunRequested], Control: true, Doc: "A request to run the job again from a SubJob, with edited input."},
	{Kind: KindPlanEdited, New: payload[PlanEdited], Control: true, Doc: "The unfinished part of the plan was replaced."},
	{Kind: KindJobPlanning, New: payload[JobMoved], Skippable: true, Doc: "Planning work was issued."},
	{Kind: KindJobWaiting, New: payload[JobMoved], Skippable: true, Doc: "Nothing runs, and a person is asked."},
	{Kind: KindJobRunning, New: payload[JobMoved], Skippable: true, Doc: "The graph runs."},
	{Kind: KindJobFinalizing, New: payload[JobMoved], Skippable: true, Doc: "Every SubJob is final and the result is being made."},
	{Kind: KindJobFinished, New: payload[JobEnded], Doc: "The job ended well."},
	{Kind: KindJobFailed, New: payload[JobEnded], Doc: "The job ended badly."},
	{Kind: KindJobStopped, New: payload[JobEnded], Doc: "The job was stopped."},
	{Kind: KindJobRecovered, New: payload[JobMoved], Skippable: true, Doc: "A stopped or failed job goes on."},
	{Kind: KindGraphReplaced, New: payload[GraphReplaced], Skippable: true, Doc: "Nodes of the graph were replaced."},
	{Kind: KindJobAdvanced, New: payload[JobAdvanced], Skippable: true, Doc: "The transitions of SubJobs since the last save."},
	{Kind: KindSessionStarted, New: payload[SessionMoved], Skippable: true, Doc: "A SubJob that was handed off begins, in a session of its own; said once."},
	{Kind: KindSessionEnded, New: payload[SessionMoved], Skippable: true, Doc: "A SubJob that was handed off came to its end, well or badly; said once."},
}

var byKind = func() map[Kind]Definition {
	m := make(map[Kind]Definition, len(definitions))
	for _, d := range definitions {
		m[d.Kind] = d
	}
	return m
}()

const typePrefix, typeSuffix = "io.jobgraph.", ".v1"

// Type returns the CloudEvents type of a kind.
func (k Kind) Type() string { return typePrefix + string(k) + typeSuffix }

// KindOf parses a CloudEvents type or a bare kind; ok is false if it is not one of ours.
func KindOf(ceType string) (k Kind, ok bool) {
	k, version := kindOf(ceType)
	return k, version == "v1"
}

// kindOf also accepts types of other versions; the version is empty if the type is not one of ours.
func kindOf(ceType string) (k Kind, version string) {
	if rest, is := strings.CutPrefix(ceType, typePrefix); is {
		cut := max(0, strings.LastIndexByte(rest, '.'))
		return Kind(rest[:cut]), strings.TrimPrefix(rest[cut:], ".")
	}
	if _, bare := byKind[Kind(ceType)]; bare {
		version = "v1"
	}
	return Kind(ceType), version
}
