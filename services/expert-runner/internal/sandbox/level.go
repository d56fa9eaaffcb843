package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Level is the strength of the sandbox.
type Level string

// The levels, weakest first.
const (
	// None restricts nothing except the runner's environment.
	None Level = "none"
	// Landlock restricts files, TCP, signals and capabilities, and sets limits.
	Landlock Level = "landlock"
	// Namespaces does the same and adds separate namespaces for processes, network, IPC and host name: there is no network at all,
	// and everything dies with the program.
	Namespaces Level = "namespaces"
	// Auto is the strongest level that the machine supports.
	Auto Level = "auto"
	// BestEffort is Auto if a level is available, otherwise None.
	BestEffort Level = "best-effort"
)

// Levels are the levels that can be requested.
func Levels() []Level { return []Level{Auto, BestEffort, Namespaces, Landlock, None} }

// Valid returns an error that lists the levels if this one does not exist.
func (l Level) Valid() error {
	if slices.Contains(Levels(), l) {
		return nil
	}
	return fmt.Errorf("%q is no level: use one of %s", string(l), strings.Join(Words(), ", "))
}

// Words are the names of the levels.
func Words() []string {
	var list []string
	for _, l := range Levels() {
		list = append(list, string(l))
	}
	return list
}

// versionOfScopes is the version of Landlock since which signals are kept from other processes.
const versionOfScopes = 6

// ErrUnavailable marks a level that the machine, or our own container, does not permit.
var ErrUnavailable = errors.New("no sandbox")
