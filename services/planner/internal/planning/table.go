package planning

import "strconv"

// Stage is a stage of planning.
type Stage string

// The stages, in the order of the pipeline.
const (
	StageBegin       Stage = "begin"       // Nothing is decided yet.
	StageGiven       Stage = "given"       // The caller's own plan or expert is checked; no model is asked.
	StageTriage      Stage = "triage"      // Is a plan needed at all?
	StageClarify     Stage = "clarify"     // A person is asked what the request means.
	StageInvestigate Stage = "investigate" // Experts are asked for information.
	StageDraft       Stage = "draft"       // A model writes the plan, and it is checked.
	StageFallback    Stage = "fallback"    // No draft was valid; the fallback levels are tried.
	StageConfirm     Stage = "confirm"     // A person confirms recurring steps.
	StageReview      Stage = "review"      // A person accepts, edits or rejects the plan.
	StageFinish      Stage = "finish"      // All steps are executed: a model writes the summary or report.
	StageEnd         Stage = "end"         // Planning is over.
)

// Optional lists the stages that a profile may leave out.
func Optional() []Stage {
	return []Stage{StageTriage, StageClarify, StageInvestigate, StageConfirm, StageReview}
}

// On is an event that moves planning from one stage to another.
type On string

// The events of stages.
const (
	OnGiven        On = "given"        // The request brings a plan or names its expert.
	OnWhole        On = "whole"        // A whole job has to be planned.
	OnReused       On = "reused"       // A stored plan for the same request is valid.
	OnPart         On = "part"         // A SubJob has to be split, or a remainder planned again.
	OnDone         On = "done"         // The plan was executed.
	OnMissing      On = "missing"      // What planning needs is missing: a model, or the request.
	OnSkipped      On = "skipped"      // The stage is not wanted here.
	OnAnswered     On = "answered"     // There is an answer, and no plan is needed.
	OnRefused      On = "refused"      // The request is refused.
	OnHanded       On = "handed on"    // A plan is needed.
	OnUnclear      On = "unclear"      // The person has to say more.
	OnUnusable     On = "unusable"     // The model returned nothing usable.
	OnTold         On = "told"         // The person answered.
	OnExpired      On = "expired"      // No answer came, or the question was withdrawn.
	OnFound        On = "found"        // The investigation returned findings.
	OnNothing      On = "nothing"      // The investigation returned nothing.
	OnValid        On = "valid"        // The plan is valid.
	OnFaulty       On = "faulty"       // The plan is faulty, and another attempt is left.
	OnExhausted    On = "exhausted"    // The plan is faulty, and no attempt is left.
	OnAbsent       On = "absent"       // Only experts are missing; they may still appear.
	OnAccepted     On = "accepted"     // The person accepts.
	OnEdited       On = "edited"       // The person wants changes.
	OnReplaced     On = "replaced"     // The person gave a valid plan of their own.
	OnRejected     On = "rejected"     // The person rejects, or no person can decide.
	OnUnrecognised On = "unrecognised" // The answer means nothing here.
)

// Transition is one legal move.
type Transition struct {
	// From and To are stages; On is the event that leads from one to the other.
	From Stage
	On   On
	To   Stage
	// Doc is one sentence for the documentation.
	Doc string
}

// Transitions lists every legal move. No other move is possible.
func Transitions() []Transition { return table }

var table = []Transition{
	{StageBegin, OnGiven, StageGiven, "The request brings a plan or names an expert: no model is needed."},
	{StageBegin, OnWhole, StageTriage, "A sentence is to become a plan."},
	{StageBegin, OnReused, StageConfirm, "The same request was planned before, for the same experts."},
	{StageBegin, OnPart, StageDraft, "A SubJob is split or a remainder planned again: what is wanted is known."},
	{StageBegin, OnDone, StageFinish, "The plan was carried out: its result is put into words."},
	{StageBegin, OnMissing, StageEnd, "There is no model, or no request: said at once, with what would help."},

	{StageGiven, OnValid, StageConfirm, "The caller's plan passed the check."},
	{StageGiven, OnAnswered, StageEnd, "The caller's plan has no steps but something to say."},
	{StageGiven, OnAbsent, StageGiven, "A runner may be about to announce the experts."},
	{StageGiven, OnExhausted, StageEnd, "The caller's plan has faults; all are told."},

	{StageTriage, OnSkipped, StageInvestigate, "The profile has no triage."},
	{StageTriage, OnAnswered, StageEnd, "The request needs no plan."},
	{StageTriage, OnRefused, StageEnd, "The request is refused, with a reason."},
	{StageTriage, OnHanded, StageInvestigate, "A plan is needed."},
	{StageTriage, OnUnclear, StageClarify, "The request can be meant in several ways."},
	{StageTriage, OnUnusable, StageInvestigate, "Triage failed: planned as it was asked, never silence."},

	{StageClarify, OnSkipped, StageInvestigate, "The profile asks no person, or enough was asked."},
	{StageClarify, OnTold, StageTriage, "The answer becomes part of the request."},
	{StageClarify, OnUnclear, StageClarify, "The planner has another question."},
	{StageClarify, OnExpired, StageInvestigate, "There was no answer: planned with what is known."},
	{StageClarify, OnRejected, StageEnd, "There was no answer, and nothing is to be assumed."},

	{StageInvestigate, OnSkipped, StageDraft, "Nothing is looked up."},
	{StageInvestigate, OnFound, StageDraft, "What was found is handed to the planner."},
	{StageInvestigate, OnNothing, StageDraft, "A failed investigation stops nothing."},

	{StageDraft, OnValid, StageConfirm, "The draft passed the check."},
	{StageDraft, OnAnswered, StageEnd, "The draft has no steps but something to say."},
	{StageDraft, OnUnclear, StageClarify, "The draft needs more from the person."},
	{StageDraft, OnFaulty, StageDraft, "The next draft gets every fault as a lesson."},
	{StageDraft, OnExhausted, StageFallback, "No draft is left, or a model cannot be reached."},
	{StageDraft, OnRefused, StageEnd, "The model or its provider refuses the request."},

	{StageFallback, OnValid, StageConfirm, "A rung of the ladder gave a plan."},
	{StageFallback, OnExhausted, StageEnd, "None did: a typed failure with every fault and the raw text."},

	{StageFinish, OnAnswered, StageEnd, "There are words: a model's, its stand-in's, or fixed ones around the results."},
	{StageFinish, OnFaulty, StageFinish, "The model gave none that can be used; it is asked once more."},
	{StageFinish, OnExhausted, StageEnd, "The expert that stands in for the model is asked."},
	{StageFinish, OnMissing, StageEnd, "There is nothing to write about: a bug, told as one."},

	{StageConfirm, OnSkipped, StageReview, "Nothing recurs, or it was confirmed already."},
	{StageConfirm, OnAccepted, StageReview, "The schedule is confirmed."},
	{StageConfirm, OnEdited, StageDraft, "The person wants another schedule."},
	{StageConfirm, OnUnrecognised, StageConfirm, "The question is repeated."},
	{StageConfirm, OnRejected, StageEnd, "The person does not want it."},
	{StageConfirm, OnExpired, StageEnd, "It was not confirmed in time."},

	{StageReview, OnSkipped, StageEnd, "No person has to see the plan."},
	{StageReview, OnAccepted, StageEnd, "The plan is accepted."},
	{StageReview, OnEdited, StageDraft, "The person wants it otherwise."},
	{StageReview, OnReplaced, StageEnd, "The person gave a valid plan of his own."},
	{StageReview, OnUnrecognised, StageReview, "The question is repeated, with what was wrong."},
	{StageReview, OnRejected, StageEnd, "The person does not want it."},
	{StageReview, OnExpired, StageEnd, "It was not reviewed in time: the profile decides."},
}

// next returns the stage that an event leads to.
func next(from Stage, on On) (Stage, bool) {
	for i := range table {
		if t := &table[i]; t.From == from && t.On == on {
			return t.To, true
		}
	}
	return StageEnd, false
}

func key(stage Stage, n int) string { return string(stage) + "/" + strconv.Itoa(n) }
