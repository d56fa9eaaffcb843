// Package profile reads the planner's profiles and prompts from files: the way of planning is data, not code.
//
// A profile is a YAML file, profiles/NAME.yaml. A prompt is a Go text/template, prompts/LANGUAGE/NAME.tmpl, that defines
// "system" and "user". The built-in files are embedded; a user's folder with the same layout adds to them or replaces them,
// file by file. Reading is strict: it reports all faults of all files with file, line and column, and uses nothing until
// there is none. A Set never changes after it was read; any number of goroutines may use it.
package profile
