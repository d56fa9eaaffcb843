package conformance

import "slices"

// Verdict is the result of checking a rule.
type Verdict string

// The possible results of checking a rule.
const (
	Kept     Verdict = "kept"
	Violated Verdict = "VIOLATED"
	Unseen   Verdict = "not seen" // The work gave no occasion to check it.
)

// Check is one rule of the contract with its result.
type Check struct {
	Rule    string  `json:"rule"`             // Rule says what a worker must do.
	Verdict Verdict `json:"verdict"`          // Verdict is kept, VIOLATED or not seen.
	Detail  string  `json:"detail,omitempty"` // Detail is what was observed, or how to give occasion for the check.
}

// Violations reports whether any rule is broken.
func Violations(checks []Check) bool {
	return slices.ContainsFunc(checks, func(c Check) bool { return c.Verdict == Violated })
}

// rule checks a condition; detail is shown if it does not hold.
func rule(name string, kept bool, detail string) Check {
	if kept {
		return Check{Rule: name, Verdict: Kept}
	}
	return Check{Rule: name, Verdict: Violated, Detail: detail}
}

// unseen returns a rule without an occasion to check it.
func unseen(name, detail string) Check { return Check{Rule: name, Verdict: Unseen, Detail: detail} }
