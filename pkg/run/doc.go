// Package run knows who may execute a run, and what a run has to know of the effects of those before it.
//
// All of it is read from the journal of the run's SubJob, which every writer appends to under compare-and-set. Read folds the
// journal; Admit says whether a run may be claimed; Holds whether a claim still stands; Close when a run may be closed; Effects
// which effects are finished, which have an unknown outcome, and what people and hooks have decided about those. The package
// also builds every record of a journal and every identity of a run.
//
// It has no clock, no I/O, no log and no state of its own: the same records give the same decision to the runner, the planner,
// the scheduler, the client and the conformance kit. Package lease, below it, is the writer behind a claim.
//
// # Why it is safe
//
// A claim is an append that expects the sequence up to which its writer has read, so of two that saw the same journal one
// loses. Every later append of the owner expects the one before, so an owner that was taken over, or whose run was closed,
// cannot write any more, and learns so at its next append or look.
//
// An effect is begun behind its stored intent. An intent without a result therefore may have taken place, and one that is not
// safe to repeat is never made again before a person or a hook has decided about it. An intent is identified by its sequence
// in the journal. A decision names that sequence and closes no other intent, however alike: the run that carries out "retry"
// may die in its turn, and then its own intent is an unknown outcome again. The same holds for answers: a question covers the
// intents that lie before it in the journal.
//
// A claim stands until it is taken over, also when its lease has passed. Only an effect must not begin on such a one: an owner that takes
// over need not wait, and may be told at once that the effect did not happen. So a lease that has passed is renewed before an effect
// begins. What no journal can exclude is a process that is stopped for a lease between its last look at the claim and the start of the
// effect.
//
// The test of this package explores every interleaving of two runners, a scheduler, a person and a bus that stalls, within
// bounds, against these functions.
package run
