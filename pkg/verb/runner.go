package verb

import "time"

// RunQuery selects runs that runners are executing.
type RunQuery struct {
	// ID selects the runs of one job.
	ID string `json:"id,omitempty"`
	// Limit bounds what each runner lists, oldest first; 500 if 0.
	Limit int `json:"limit,omitempty"`
}

// RunList lists runs that runners are executing, oldest first. Total counts them without the limit. Workers that are not runners of
// Jobgraph are not listed.
type RunList struct {
	Runs  []HeldRun `json:"runs"`
	Total int       `json:"total"`
}

// HeldRun is a run that a runner has accepted; Since is when it took the work. The run may still wait for a free place.
type HeldRun struct {
	Runner  string    `json:"runner"`
	JobID   string    `json:"job_id"`
	SubJob  string    `json:"subjob"`
	Run     int       `json:"run"`
	Attempt int       `json:"attempt"`
	Expert  string    `json:"expert"`
	Pool    string    `json:"pool"`
	Since   time.Time `json:"since"`
	// LeaseUntil is how long its claim excludes other runners unless it is renewed; absent before the claim, and for a pure expert.
	LeaseUntil time.Time `json:"lease_until,omitzero"`
}

// RunnerList lists runners by name. On the bus each lists only itself.
type RunnerList struct {
	Runners []RunnerLine `json:"runners"`
}

// RunnerLine describes a runner. InHand counts the runs that it has accepted, Concurrency is how many it executes at once, not
// counting those that only wait for others.
type RunnerLine struct {
	Runner      string         `json:"runner"`
	Version     string         `json:"version"`
	Pools       []string       `json:"pools"`
	InHand      int            `json:"in_hand"`
	Concurrency int            `json:"concurrency"`
	Experts     []RunnerExpert `json:"experts"`
}

// RunnerExpert is an expert of a runner. Tools are the tools of its agent there; Lacks are tools of its card that are not offered
// there. Elsewhere is true if other workers take its work: the runner only announces it.
type RunnerExpert struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Kind      string       `json:"kind"`
	Pool      string       `json:"pool"`
	Elsewhere bool         `json:"elsewhere,omitempty"`
	Tools     []string     `json:"tools,omitempty"`
	Lacks     []LackedTool `json:"lacks,omitempty"`
}

// LackedTool is a tool that is not offered, with the reason.
type LackedTool struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}
