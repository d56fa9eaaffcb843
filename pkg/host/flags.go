package host

import (
	"fmt"
	"slices"
	"strings"
)

// Env looks a variable up, as os.LookupEnv does. A variable that is set but empty counts as not set.
type Env func(name string) (string, bool)

// get is the value of a variable that is set and not empty.
func (e Env) get(name string) (string, bool) {
	if e == nil {
		return "", false
	}
	value, found := e(name)
	return value, found && value != ""
}

// Flag declares one setting. It can be given as a flag, as a variable and in the configuration file.
type Flag struct {
	// Name is the flag without its dashes, in lower case with dashes between words. It is also the key in the file.
	Name string
	// Env is the variable; empty means JOBGRAPH_ and the name in upper case with underscores.
	Env string
	// Usage is one sentence for people.
	Usage string
	// Default is the value when none is given; empty leaves the variable as it is.
	Default string
	// Limit says in words which values are good; it is part of every fault about the value.
	Limit string
	// Secret hides the value wherever settings are shown. It is given by its variable, by <Env>_FILE or by
	// --<name>-file, never as a flag, since everybody on the machine can read those.
	Secret bool
	// Switch marks a flag that needs no value: --name means --name=true.
	Switch bool
	// Check refuses a value with a reason; nil takes all. It is used by String and Strings.
	Check func(value string) error
	// Set stores the value. The typed methods of Flags fill it; with Add it is given.
	Set func(value string) error
}

// Source says where the value of a setting came from, weakest first.
type Source string

// The sources of a setting.
const (
	FromDefault Source = "default"
	FromConfig  Source = "config"
	FromEnv     Source = "env"
	FromFlag    Source = "flag"
)

// Flags is the set of all settings of one program.
type Flags struct {
	program  string
	env      Env
	entries  []*entry
	config   string // value of the flag named configFlag
	position map[string]int
}

// entry is a declared flag with what is known of its value.
type entry struct {
	Flag
	value  string
	source Source
	origin Fault // File, Line, Column, Field: the place of the value, for faults about it
}

// configFlag names the configuration file; it is read before the others.
const configFlag = "config"

// NewFlags is an empty set for the program of this name, over an environment.
func NewFlags(program string, env Env) *Flags {
	return &Flags{program: program, env: env, position: map[string]int{}}
}

// Add declares a setting that knows how to Set itself. Declaring a name twice is a bug and panics.
func (f *Flags) Add(flag Flag) {
	if flag.Env == "" {
		flag.Env = "JOBGRAPH_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
	}
	if _, exists := f.position[flag.Name]; exists || flag.Name == "" || flag.Set == nil {
		panic(fmt.Sprintf("host: flag %q is declared twice, or has no name, or no Set", flag.Name))
	}
	f.position[flag.Name] = len(f.entries)
	f.entries = append(f.entries, &entry{Flag: flag, value: flag.Default, source: FromDefault})
}

// SetDefault gives a declared setting another default: a service may know better than host. An unknown name is a
// bug and panics.
func (f *Flags) SetDefault(name, value string) {
	e := f.find(name)
	if e == nil {
		panic(fmt.Sprintf("host: no flag %q to give a default", name))
	}
	e.Default, e.value = value, value
}

func (f *Flags) find(name string) *entry {
	at, found := f.position[name]
	if !found {
		return nil
	}
	return f.entries[at]
}

// names are the flags as typed: a secret is given by the file it is in.
func (f *Flags) names() []string {
	names := make([]string, 0, len(f.entries))
	for _, e := range f.entries {
		names = append(names, e.flagName())
	}
	slices.Sort(names)
	return names
}

func (e *entry) flagName() string {
	if e.Secret {
		return e.Name + "-file"
	}
	return e.Name
}
