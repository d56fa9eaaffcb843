// Package caller asks configured models for the planner: it turns calls of a session into requests, and whatever comes back
// into facts. It decides nothing about plans, and keeps nothing.
package caller
