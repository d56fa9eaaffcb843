// Package policy decides about a tool call before it is made: it is allowed, needs the approval of a person, or is denied. Rules
// match by expert, by the tool's name and by its arguments; the first match decides, and of several lists the strictest verdict.
//
// It is pure: the same rules and the same call give the same verdict. It makes no calls and keeps no state.
package policy
