// Package run decides who may execute a run, and what a run has to know about the effects of earlier runs.
//
// Everything is read from the journal of the run's SubJob, to which every writer appends under compare-and-set. Read folds
// the journal. Admit says whether a run may be claimed, Holds whether a claim still holds, Held until when a run is held.
// Effects says which effects are finished, which have an unknown outcome, and what people and hooks have decided about
// those. The package also builds every record of a journal and every identity of a run.
//
// It has no clock, I/O, log or state of its own: the same records give the same decision to the runner, the planner, the
// scheduler, the client and the conformance kit. Package lease, below it, is the writer behind a claim.
//
// # Why it is safe
//
// A claim is an append that expects the sequence up to which its writer has read, so of two writers that saw the same
// journal one fails. Every later append of the owner expects the previous one, so an owner whose run was taken over or
// closed cannot write any more, and learns that at its next append or look.
//
// An effect begins after its intent is stored. An intent without a result therefore may have taken place, and one that is
// not safe to repeat is never repeated before a person or a hook has decided about it. An intent is identified by its
// sequence in the journal. A decision names that sequence and closes no other intent, however similar: the run that executes
// "retry" may die in turn, and then its own intent is an unknown outcome again. The same holds for answers: a question
// covers the intents before it in the journal.
//
// A claim holds until it is taken over, even after its lease has passed. But no effect may begin under a passed lease:
// another owner could take over without waiting, and be told at once that the effect did not happen. So a passed lease is
// renewed before an effect begins. No journal can exclude that a process is suspended for a whole lease between its last
// look at the claim and the start of the effect.
//
// The test of this package explores every interleaving of two runners, a scheduler, a person and a stalling bus, within
// bounds, against these functions.
package run
