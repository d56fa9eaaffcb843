package host

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Setting is one setting in a form for people.
type Setting struct {
	// Name is the key in the configuration file; with two dashes it is the flag.
	Name string `json:"name"`
	// Flag is the flag with its dashes; for a secret, the flag that names a file.
	Flag string `json:"flag"`
	// Env is the environment variable.
	Env string `json:"env"`
	// EnvFile is the variable that names a file with the value, for secrets only.
	EnvFile string `json:"env_file,omitempty"`
	// Usage is a one-sentence description.
	Usage string `json:"usage"`
	// Default is the value when none is given.
	Default string `json:"default,omitempty"`
	// Limit describes the allowed values.
	Limit string `json:"limit,omitempty"`
	// Value is the present value, masked if it is a credential.
	Value string `json:"value"`
	// Source is where Value came from.
	Source Source `json:"source"`
}

// List returns all settings in the order of declaration, for documentation and for config print. Values are those of the
// last Parse; secrets are masked.
func (f *Flags) List() []Setting {
	list := make([]Setting, 0, len(f.entries))
	for _, e := range f.entries {
		s := Setting{
			Name: e.Name, Flag: "--" + e.flagName(), Env: e.Env, Usage: e.Usage, Default: e.Default, Limit: e.Limit,
			Value: MaskURL(e.value), Source: e.source,
		}
		if e.Secret {
			s.EnvFile, s.Value = e.Env+"_FILE", Mask(e.value)
		}
		list = append(list, s)
	}
	return list
}

// WriteUsage writes the text of --help.
func (f *Flags) WriteUsage(w io.Writer) error {
	var b strings.Builder
	for _, s := range f.List() {
		fmt.Fprintf(&b, "  %s  (%s", s.Flag, s.Env)
		if s.EnvFile != "" {
			fmt.Fprintf(&b, ", %s", s.EnvFile)
		}
		fmt.Fprintf(&b, ")\n      %s", s.Usage)
		if s.Limit != "" {
			fmt.Fprintf(&b, " It is %s.", s.Limit)
		}
		if s.Default != "" {
			fmt.Fprintf(&b, " Default: %s", s.Default)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteDoc writes the settings as a Markdown table for generated documentation. It contains no values, so that it is the
// same on every machine.
func (f *Flags) WriteDoc(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| flag | variable | default | meaning |\n|---|---|---|---|\n")
	for _, s := range f.List() {
		env := "`" + s.Env + "`"
		if s.EnvFile != "" {
			env += ", `" + s.EnvFile + "`"
		}
		fallback := ""
		if s.Default != "" {
			fallback = "`" + s.Default + "`"
		}
		meaning := s.Usage
		if s.Limit != "" {
			meaning += " It is " + s.Limit + "."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Flag, env, fallback, strings.ReplaceAll(meaning, "|", `\|`))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteValues writes the value and the source of every setting, with secrets masked, for config print.
func (f *Flags) WriteValues(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SETTING\tVALUE\tSOURCE")
	for _, s := range f.List() {
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.Name, s.Value, s.Source)
	}
	return table.Flush()
}
