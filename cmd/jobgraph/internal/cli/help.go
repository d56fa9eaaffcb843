package cli

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
)

// helpWidth limits the columns of help texts, on every terminal.
const helpWidth = 80

// fitHelp wraps the help of a command and of all its subcommands to helpWidth columns.
func fitHelp(root *cobra.Command) {
	root.SetUsageFunc(func(c *cobra.Command) error {
		_, err := io.WriteString(c.OutOrStderr(), usage(c))
		return err
	})
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		text := strings.TrimRight(flowing(cmp.Or(c.Long, c.Short)), " \n") + "\n\n" + c.UsageString()
		_, _ = io.WriteString(c.OutOrStdout(), wrapped(text)) // A failure to write help cannot be reported anywhere.
	})
}

// usage returns the usage text of a command, without a template: package template says what templates cost.
func usage(c *cobra.Command) string {
	var b strings.Builder
	b.WriteString("Usage:")
	if c.Runnable() {
		b.WriteString("\n  " + c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n  " + c.CommandPath() + " [command]")
	}
	if len(c.Aliases) > 0 {
		b.WriteString("\n\nAliases:\n  " + c.NameAndAliases())
	}
	if c.HasExample() {
		b.WriteString("\n\nExamples:\n" + c.Example)
	}
	if c.HasAvailableSubCommands() {
		for _, group := range append(c.Groups(), &cobra.Group{Title: "Available Commands:"}) {
			b.WriteString(commandsOf(c, group))
		}
	}
	if c.HasAvailableLocalFlags() {
		b.WriteString("\n\nFlags:\n" + strings.TrimRight(c.LocalFlags().FlagUsagesWrapped(helpWidth), " \n"))
	}
	if c.HasAvailableInheritedFlags() {
		b.WriteString("\n\nGlobal Flags:\n" + strings.TrimRight(c.InheritedFlags().FlagUsagesWrapped(helpWidth), " \n"))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	return b.String() + "\n"
}

// commandsOf lists the commands of one group; a group without an ID stands for the commands without a group. The result
// is empty if there are none.
func commandsOf(c *cobra.Command, group *cobra.Group) string {
	var b strings.Builder
	for _, below := range c.Commands() {
		if below.GroupID != group.ID || !below.IsAvailableCommand() && below.Name() != "help" {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("\n\n" + group.Title)
		}
		fmt.Fprintf(&b, "\n  %-*s %s", below.NamePadding(), below.Name(), below.Short)
	}
	return b.String()
}

// flowing joins the lines of each paragraph; indented lines and headings stay separate.
func flowing(text string) string {
	var b strings.Builder
	apart := true
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		alone := line == "" || strings.ContainsAny(line[:1], " \t#")
		if b.Len() > 0 {
			b.WriteByte(map[bool]byte{true: '\n', false: ' '}[alone || apart])
		}
		b.WriteString(line)
		apart = alone
	}
	return b.String()
}

// column matches the beginning of a row in a list of commands, up to its second column.
var column = regexp.MustCompile(`^  ([a-z-]+ {2,}|[a-z-]{11,} )`)

// wrapped breaks long lines between words. Continuations are aligned with the text that they belong to.
func wrapped(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		indent := column.FindString(line)
		if indent == "" {
			indent = line[:len(line)-len(strings.TrimLeft(line, " "))]
		}
		lines[i] = output.WrapLine(line, helpWidth, len(indent))
	}
	return strings.Join(lines, "\n")
}
