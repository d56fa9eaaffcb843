package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// app is one run of the program: its environment, its global flags and its two contexts.
type app struct {
	sys System
	globals
	// soft ends at the first signal, at --timeout or when the reader of the output has gone; hard ends at the second
	// signal.
	soft, hard context.Context
	// endTimer stops the timer of --timeout.
	endTimer context.CancelFunc
	// unread ends soft because the reader of the output has gone; nil outside of Main.
	unread func()
	// unreached is why the bus could not be reached when a short job id was looked up; else nil.
	unreached error
	commands
}

// commands are all groups of commands. Each has the app, and through it the other groups.
type commands struct {
	controls    controls
	deadLetters deadLetters
	demos       demos
	documents   documents
	experts     experts
	files       files
	folders     folders
	forks       forks
	inputs      inputs
	knowledge   knowledge
	memory      memories
	operations  operations
	plans       plans
	replays     replays
	runs        runs
	schedules   schedules
	sessions    sessions
	supplies    supplies
	users       users
	views       views
}

func newApp(soft, hard context.Context, sys System) *app {
	soft = client.WithTimezone(soft, localZone(sys.Env))
	a := &app{sys: sys, soft: soft, hard: hard, endTimer: func() {}}
	a.commands = commands{
		controls: controls{a}, deadLetters: deadLetters{a}, demos: demos{a}, documents: documents{a}, experts: experts{a},
		files: files{a}, folders: folders{a}, forks: forks{a}, inputs: inputs{a}, knowledge: knowledge{a}, memory: memories{a}, operations: operations{a}, plans: plans{a}, replays: replays{a},
		runs: runs{a}, schedules: schedules{a}, sessions: sessions{a}, supplies: supplies{a}, users: users{a}, views: views{a},
	}
	return a
}

// Main runs the program and returns its exit code.
func Main(sys System) int {
	host.TuneMemory(sys.Env)
	hard, endHard := context.WithCancelCause(context.Background())
	soft, endSoft := context.WithCancelCause(hard)
	defer endHard(nil)
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() { // Ends with done; waited for below.
		defer close(watched)
		onSignals(sys.Signals, done, func() { endSoft(errInterrupted) }, func() { endHard(errInterrupted) })
	}()
	defer func() { <-watched }()
	defer close(done)
	unread := func() { endSoft(errUnread) }
	sys.Stdout, sys.Stderr = pipe{sys.Stdout, unread}, pipe{sys.Stderr, unread}
	a := newApp(soft, hard, sys)
	a.unread = unread
	root := a.root()
	root.SetArgs(sys.Args)
	err := root.ExecuteContext(soft)
	a.report(err)
	code := exitCode(a.soft, err)
	a.endTimer()
	return code
}

// onSignals calls first at the first signal and second at the second.
func onSignals(signals <-chan os.Signal, done <-chan struct{}, first, second func()) {
	for _, f := range []func(){first, second} {
		select {
		case <-signals:
			f()
		case <-done:
			return
		}
	}
}

// root returns the tree of commands.
func (a *app) root() *cobra.Command {
	version := false
	root := &cobra.Command{
		Use: "jobgraph", Short: "Turn a goal into a JobGraph and run it to the end",
		SilenceErrors: true, SilenceUsage: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q for \"jobgraph\"", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.operations.version()
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.check(a); err != nil || a.output == "plan" && cmd.CommandPath() == "jobgraph get" {
				return err
			}
			return a.form()
		},
	}
	root.SetIn(a.sys.Stdin)
	root.SetOut(a.sys.Stdout)
	root.SetErr(a.sys.Stderr)
	a.declare(root)
	root.Flags().BoolVar(&version, "version", false, "print version, commit and Go version")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError{flagError(c, err)} })
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"run", "Run", []*cobra.Command{a.runs.upCommand(), a.runs.runCommand(), a.runs.chatCommand(), a.runs.submitCommand(), a.demos.command(), a.folders.newCommand()}},
		{"see", "See", []*cobra.Command{
			a.views.getCommand(), a.views.describeCommand(), a.views.listCommand(), a.views.watchCommand(), a.views.tailCommand(), a.views.logsCommand(), a.views.eventsCommand(), a.views.graphCommand(), a.views.whyCommand(),
			a.replays.replayCommand(), a.forks.diffCommand(), a.files.command(), a.experts.command(), a.plans.command(), a.sessions.command(), a.users.command(), a.knowledge.command(), a.memory.command(), a.schedules.command(),
			a.supplies.budgetsCommand(), a.supplies.poolsCommand(), a.supplies.modelsCommand(),
		}},
		{"act", "Act", []*cobra.Command{
			a.controls.stopCommand(), a.controls.failCommand(), a.controls.recoverCommand(), a.controls.retryCommand(), a.controls.rerunCommand(), a.forks.forkCommand(), a.controls.deleteCommand(),
			a.inputs.answerCommand(), a.inputs.approveCommand(), a.inputs.rejectCommand(), a.inputs.inputsCommand(), a.replays.exportCommand(), a.replays.importCommand(),
		}},
		{"operate", "Operate", a.operateCommands()},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title + ":"})
		for _, c := range group.commands {
			c.GroupID = group.id
			root.AddCommand(c)
		}
	}
	strict(root)
	a.shortIDs(root, "")
	a.completeFlags(root)
	completions(root)
	exemplify(root, "", examples())
	fitHelp(root)
	return root
}

func (a *app) operateCommands() []*cobra.Command {
	return []*cobra.Command{a.operations.initCommand(), a.operations.doctorCommand(), a.operations.fsckCommand(), a.operations.modelCommand(), a.folders.command(), a.experts.toolsCommand(), a.operations.configCommand(), a.operations.importConfigCommand(), a.deadLetters.command(), a.operations.mcpCommand(), a.operations.benchCommand(), a.operations.versionCommand()}
}

// completions adds the commands that print completion scripts; like other groups theirs refuses what it does not have.
func completions(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() } // Arguments of a command that does not run are not checked.
			strict(c)
		}
	}
}

// strict makes every error about arguments a usage error, and a group without a subcommand print its help.
func strict(c *cobra.Command) {
	c.SuggestionsMinimumDistance = 2
	if c.HasParent() {
		alias(c)
	}
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError{fmt.Errorf("%w%s", err, instead(cmd, args))}
			}
			return nil
		}
	}
	for _, child := range c.Commands() {
		strict(child)
	}
}

// instead says what can be written in place of arguments that do not fit: commands that are spelled alike, all of a group, or the usage.
func instead(cmd *cobra.Command, args []string) string {
	if !cmd.HasSubCommands() {
		return "; write " + strings.TrimSuffix(cmd.UseLine(), " [flags]")
	}
	if len(args) == 0 {
		return ""
	}
	if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
		return "; did you mean " + strings.Join(names, " or ") + "?"
	}
	var all []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && cmd.HasParent() {
			all = append(all, c.Name())
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "; use " + strings.Join(all, ", ")
}

// synonyms are different names for the same command in different groups: each group accepts all of them.
var synonyms = [][]string{{"get", "describe", "show"}, {"list", "ls"}}

// alias adds synonyms to the commands of a group, unless they name something else.
func alias(parent *cobra.Command) {
	taken := map[string]bool{}
	for _, c := range parent.Commands() {
		taken[c.Name()] = true
	}
	for _, c := range parent.Commands() {
		for _, names := range synonyms {
			if !slices.Contains(names, c.Name()) {
				continue
			}
			for _, name := range names {
				if !taken[name] && !slices.Contains(c.Aliases, name) {
					taken[name] = true
					c.Aliases = append(c.Aliases, name)
				}
			}
		}
	}
}

// group returns a command that only contains others.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(children...)
	return c
}

// report prints an error for people and, with -o json, for programs.
func (a *app) report(err error) {
	var silent outcome
	if err == nil || errors.As(err, &silent) {
		return
	}
	text, faults, code := err.Error(), faultsOf(err), events.CodeInternal
	switch cause := context.Cause(a.soft); {
	case errors.Is(cause, errUnread):
		return
	case errors.Is(cause, errInterrupted), errors.Is(cause, errTimeout):
		text, code = a.ending()
		faults = nil
	}
	if a.machine() {
		var value any = events.Fault{Code: code, Message: text}
		switch {
		case len(faults) == 1:
			value = faults[0]
		case len(faults) > 1:
			value = events.Rejection{Faults: faults}
		}
		_ = output.Value(a.sys.Stdout, a.output, value) // The text below repeats it.
	}
	if len(faults) == 0 {
		a.complain(text)
		var usage usageError
		if errors.As(err, &usage) {
			_, _ = fmt.Fprintln(a.sys.Stderr, "jobgraph: --help shows what there is") // There is no other output.
		}
		return
	}
	for _, f := range alike(faults) {
		line := f.Error()
		if f.Hint != "" {
			line += "\n  → " + f.Hint
		}
		a.complain(line)
	}
}

// ending says in words and as a code why the command ended before its work was done: by a signal or by --timeout.
func (a *app) ending() (string, events.Code) {
	if errors.Is(context.Cause(a.soft), errTimeout) {
		return "timeout: " + a.timeout.String() + " have passed", events.CodeTimeout
	}
	return "interrupted", events.CodeCancelled
}

func (a *app) complain(text string) {
	_, _ = io.WriteString(a.sys.Stderr, a.wrapped("jobgraph: "+output.Clean(text))+"\n") // There is no other output.
}

// wrapped breaks long lines between words if they go to a terminal.
func (a *app) wrapped(text string) string {
	if a.sys.Columns == nil {
		return text
	}
	return output.Wrap(text, a.sys.Columns()-1) // Some terminals move to the next row as soon as a row is full.
}

// note prints a message to standard error, unless --quiet is given.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		_, _ = io.WriteString(a.sys.Stderr, output.Clean(fmt.Sprintf(format, args...))+"\n") // A note may be lost.
	}
}

// fit breaks lines of the result that are wider than the terminal between words. Their continuations begin at a column, those of a
// hint below its text. Commands between backticks stay in one piece.
func (a *app) fit(text string, indent int) string {
	width, _, terminal := a.size()
	if !terminal {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "  → "):
			lines[i] = output.Wrap(line, width-1) // As for wrapped.
		case drawing.Width(line) >= width:
			lines[i] = output.WrapLine(line, width-1, indent)
		}
	}
	return strings.Join(lines, "\n")
}

// printf prints the result.
func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.sys.Stdout, format, args...)
	return err
}

// machine reports whether a program reads the result.
func (a *app) machine() bool { return a.output == "json" || a.output == "jsonl" || a.output == "yaml" }

func (a *app) now() time.Time { return a.sys.Now() }
