package host

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Parse resolves every setting: a flag takes precedence over the environment, the environment over the configuration file, and
// the file over the default. It returns the remaining arguments. All faults are reported together as Faults; --help returns
// flag.ErrHelp.
func (f *Flags) Parse(args []string) (rest []string, err error) {
	given := map[string]string{}
	rest, faults, help := f.scan(args, given)
	if help {
		return rest, flag.ErrHelp
	}
	faults = append(faults, f.layer(given)...)
	for _, e := range f.entries {
		if fault, bad := e.apply(); bad {
			faults = append(faults, fault)
		}
	}
	return rest, faults.Err()
}

// scan reads the command line into given. Flags may come before and after other arguments; "--" ends them.
func (f *Flags) scan(args []string, given map[string]string) (rest []string, faults Faults, help bool) {
	set := f.flagSet(given)
	for {
		err := set.Parse(args)
		left := set.Args()
		switch {
		case errors.Is(err, flag.ErrHelp):
			return rest, faults, true
		case err != nil:
			faults = append(faults, f.scanFault(args[len(args)-len(left)-1], err))
		case len(left) == 0:
			return rest, faults, false
		case len(left) < len(args) && args[len(args)-len(left)-1] == "--":
			return append(rest, left...), faults, false
		default:
			rest, left = append(rest, left[0]), left[1:]
		}
		args = left
	}
}

func (f *Flags) flagSet(given map[string]string) *flag.FlagSet {
	set := flag.NewFlagSet(f.program, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	for _, e := range f.entries {
		name := e.flagName()
		set.Var(&collector{given: given, name: name, bare: e.Switch}, name, e.Usage)
	}
	return set
}

// collector collects the values that the standard package parsed, unchecked: they are checked later, all together.
type collector struct {
	given map[string]string
	name  string
	bare  bool
}

func (c *collector) String() string { return "" }

func (c *collector) Set(value string) error {
	c.given[c.name] = value
	return nil
}

func (c *collector) IsBoolFlag() bool { return c.bare }

func (f *Flags) scanFault(arg string, err error) Fault {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if f.find(name) == nil && f.find(strings.TrimSuffix(name, "-file")) == nil || f.isBareSecret(name) {
		return Fault{
			Code: events.CodeUnknownField, Field: "--" + name, Message: "unknown flag", Hint: f.suggest(name),
		}
	}
	return Fault{
		Code: events.CodeInvalid, Field: "--" + name, Message: "the value is missing", Cause: err.Error(),
		Hint: fmt.Sprintf("write --%s=VALUE", name),
	}
}

func (f *Flags) isBareSecret(name string) bool {
	e := f.find(name)
	return e != nil && e.Secret
}

// suggest names the most similar flag.
func (f *Flags) suggest(name string) string {
	if f.isBareSecret(name) {
		e := f.find(name)
		return fmt.Sprintf("a secret is given by %s, %s_FILE or --%s", e.Env, e.Env, e.flagName())
	}
	if near := nearest(name, f.names()); near != "" {
		return fmt.Sprintf("did you mean --%s? --help lists all", near)
	}
	return "--help lists all"
}

// layer takes each value from the strongest source that has one.
func (f *Flags) layer(given map[string]string) Faults {
	var faults Faults
	if e := f.find(configFlag); e != nil {
		faults = append(faults, e.resolve(f.env, given)...)
		f.config = e.value
	}
	faults = append(faults, f.readConfig()...)
	for _, e := range f.entries {
		if e.Name != configFlag {
			faults = append(faults, e.resolve(f.env, given)...)
		}
	}
	return faults
}

// resolve overrides the entry's value by the environment, then by the command line.
func (e *entry) resolve(env Env, given map[string]string) Faults {
	if value, found := given[e.flagName()]; found {
		e.give(value, FromFlag, Fault{Field: "--" + e.flagName()})
		if e.Secret {
			return e.fromFile(value)
		}
		return nil
	}
	value, found := env.get(e.Env)
	path, inFile := "", false
	if e.Secret {
		path, inFile = env.get(e.Env + "_FILE")
	}
	switch {
	case found && inFile:
		return Faults{{
			Code: events.CodeInvalid, Field: e.Env, Message: fmt.Sprintf("both %s and %s_FILE are set", e.Env, e.Env),
			Hint: "set one of the two",
		}}
	case found:
		e.give(value, FromEnv, Fault{Field: e.Env})
	case inFile:
		e.give(path, FromEnv, Fault{Field: e.Env + "_FILE"})
		return e.fromFile(path)
	}
	return nil
}

func (e *entry) give(value string, source Source, origin Fault) {
	e.value, e.source, e.origin = value, source, origin
}

// fromFile replaces the path of a secret by the contents of the file.
func (e *entry) fromFile(path string) Faults {
	text, err := readSmall(path)
	if err != nil {
		e.value = ""
		return Faults{{
			Code: CodeUnreadable, Field: e.origin.Field, Message: fmt.Sprintf("the secret's file %q cannot be read", path),
			Cause: err.Error(), Hint: "check the path and its permissions",
		}}
	}
	e.value = strings.TrimRight(text, "\r\n")
	return nil
}

// apply stores the final value, or returns the fault in it.
func (e *entry) apply() (Fault, bool) {
	if e.value == "" && e.source == FromDefault {
		return Fault{}, false
	}
	err := e.Set(e.value)
	if err == nil {
		return Fault{}, false
	}
	shown := e.value
	if e.Secret {
		shown = Mask(shown)
	}
	fault := e.origin
	fault.Code, fault.Message = events.CodeInvalid, fmt.Sprintf("value %q is not good", shown)
	if fault.Field == "" {
		fault.Field = e.Name
	}
	if !errors.Is(err, errOutside) && !e.Secret {
		fault.Cause = err.Error()
	}
	if e.Limit != "" {
		fault.Hint = "it must be " + e.Limit
	}
	return fault, true
}
