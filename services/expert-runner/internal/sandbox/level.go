package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Level is how much a program is kept from.
type Level string

// The levels, weakest first.
const (
	// None keeps a program from nothing but the runner's environment.
	None Level = "none"
	// Landlock restricts files, TCP, signals and capabilities, and sets limits.
	Landlock Level = "landlock"
	// Namespaces does that, and gives spaces of processes, network, IPC and host name of its own: there is no network at all, and
	// everything dies with the program.
	Namespaces Level = "namespaces"
	// Auto is the strongest that the machine allows.
	Auto Level = "auto"
	// BestEffort is Auto where there is any, else None.
	BestEffort Level = "best-effort"
)

// Levels are those that can be asked for.
func Levels() []Level { return []Level{Auto, BestEffort, Namespaces, Landlock, None} }

// Valid reports whether there is such a level.
func (l Level) Valid() error {
	if slices.Contains(Levels(), l) {
		return nil
	}
	return fmt.Errorf("%q is no level: use one of %s", string(l), strings.Join(Words(), ", "))
}

// Words are the levels as they are written.
func Words() []string {
	var list []string
	for _, l := range Levels() {
		list = append(list, string(l))
	}
	return list
}

// ErrUnavailable marks a level that the machine, or the program around us, does not allow.
var ErrUnavailable = errors.New("no sandbox")
