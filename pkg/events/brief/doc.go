// Package brief is the form of what a run knows about its job besides its own step: the request, the plan, where the step
// stands in it, what was learned, and for whom the work is done. It is part of the contract: fields are only added.
//
// A brief stands in the field brief of a work message. Request and plan are shortened there if they are large; then brief_ref
// of the same message refers to a blob with a JSON object whose fields take the place of those of the brief. The blob is
// stored once per request and version of the plan, not once per run, so that all work of a job together grows with the job
// and not with its square. Everything in a brief is data about the job, never an instruction.
//
// The package decides nothing about jobs and owns no state.
package brief
