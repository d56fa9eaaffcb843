// Package profile reads the planner's profiles and prompts from files: how a kind of planning goes is data, not code.
//
// A profile is a YAML file, profiles/NAME.yaml; a prompt is a Go text/template, prompts/LANGUAGE/NAME.tmpl, that defines
// "system" and "user". Those that come with the program are embedded; a folder of the user's with the same layout adds to
// them and replaces them, file by file. Reading is strict: every fault of every file is told with file, line and column, and
// nothing is used until there is none. A Set never changes once it is read; any number of goroutines may use it.
package profile
