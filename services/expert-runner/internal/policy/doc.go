// Package policy decides what becomes of a call of a tool before it is made: it is allowed, put to a person, or denied. Rules
// go by expert, by the tool's name and by its arguments; the first that fits decides, and of several lists the strictest does.
//
// It is pure: the same rules and the same call give the same verdict. It makes no calls and keeps no state.
package policy
