package host

import (
	"fmt"
	"slices"
	"strings"
)

// Env looks up a variable, as os.LookupEnv does. An empty variable counts as unset.
type Env func(name string) (string, bool)

// get returns the value of a variable that is set and not empty.
func (e Env) get(name string) (string, bool) {
	if e == nil {
		return "", false
	}
	value, found := e(name)
	return value, found && value != ""
}

// Flag declares one setting. It can be set as a flag, as a variable and in the configuration file.
type Flag struct {
	// Name is the flag without its dashes, in lower case with dashes between words. It is also the key in the file.
	Name string
	// Env is the variable; empty means JOBGRAPH_ and the name in upper case with underscores.
	Env string
	// Usage is a one-sentence description.
	Usage string
	// Default is the default value; empty keeps the initial value of the target.
	Default string
	// Limit describes the allowed values; every fault about the value contains it.
	Limit string
	// Secret hides the value wherever settings are shown. It is given by its variable, by <Env>_FILE or by --<name>-file,
	// never as a flag, since every user of the machine can read command lines.
	Secret bool
	// Switch marks a flag without a value: --name means --name=true.
	Switch bool
	// Check rejects a value with a reason; nil accepts all. String and Strings use it.
	Check func(value string) error
	// Set stores the value. The typed methods of Flags supply it; callers of Add do so themselves.
	Set func(value string) error
}

// Source is where the value of a setting comes from.
type Source string

// The sources of a setting, the weakest first.
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
	config   string // The value of the flag named configFlag.
	position map[string]int
}

// entry is a declared flag with its value.
type entry struct {
	Flag
	value  string
	source Source
	origin Fault // The position of the value, for faults about it.
}

// configFlag names the configuration file; it is resolved before the others.
const configFlag = "config"

// NewFlags returns an empty set for a program and an environment.
func NewFlags(program string, env Env) *Flags {
	return &Flags{program: program, env: env, position: map[string]int{}}
}

// Add declares a setting with its own Set. Declaring a name twice is a bug and panics.
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

// SetDefault changes the default of a declared setting, for services that need another than host's. An unknown name is a
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

// names lists the flags as typed; for secrets, the flags that name a file.
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
