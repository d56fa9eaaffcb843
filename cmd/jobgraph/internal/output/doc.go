// Package output writes values for people and for programs: tables, JSON, JSON lines, YAML, names, and a job as a tree. It
// writes to what it is given and knows no bus.
package output
