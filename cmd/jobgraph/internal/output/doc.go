// Package output writes values for people and for programs: tables, JSON, JSON lines, YAML, names, and a job as a tree. It
// writes to given writers and knows no bus.
package output
