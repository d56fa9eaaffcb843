// Package caller calls configured models for the planner: it turns calls of package planning into requests and their
// outcomes into facts. It decides nothing about plans and has no state.
package caller
