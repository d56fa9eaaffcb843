package conformance

import "slices"

// Verdict is what is known of a rule.
type Verdict string

// The verdicts.
const (
	Kept     Verdict = "kept"
	Violated Verdict = "VIOLATED"
	Unseen   Verdict = "not seen" // The work gave no occasion.
)

// Check is one rule of the contract with what was seen of it.
type Check struct {
	Rule    string  `json:"rule"`             // Rule says what a worker does.
	Verdict Verdict `json:"verdict"`          // Verdict is kept, VIOLATED or not seen.
	Detail  string  `json:"detail,omitempty"` // Detail is what was seen, or how to make it seen.
}

// Violations reports whether any rule is broken.
func Violations(checks []Check) bool {
	return slices.ContainsFunc(checks, func(c Check) bool { return c.Verdict == Violated })
}

// rule judges by a condition; detail is told when it does not hold.
func rule(name string, kept bool, detail string) Check {
	if kept {
		return Check{Rule: name, Verdict: Kept}
	}
	return Check{Rule: name, Verdict: Violated, Detail: detail}
}

// unseen is a rule without an occasion.
func unseen(name, detail string) Check { return Check{Rule: name, Verdict: Unseen, Detail: detail} }
