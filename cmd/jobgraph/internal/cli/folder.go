package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/trust"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// folderFlags say how the files of the current folder are used.
type folderFlags struct {
	trust, leave bool
	variables    []string
}

func (f *folderFlags) declare(flags *pflag.FlagSet) {
	flags.BoolVar(&f.trust, "trust", false, "use programs, servers and addresses in jobgraph.yaml and experts/ of this folder without asking")
	flags.StringSliceVar(&f.variables, "trust-env", nil, "secret variable that these files may read; repeatable")
	flags.BoolVar(&f.leave, "no-folder", false, "ignore jobgraph.yaml, experts/ and .env of this folder")
}

// folders decides about the files of the current folder before any of them is used.
type folders struct{ app *app }

// folder holds the files of a folder that an embedded bus uses if nothing else was named.
type folder struct {
	dir     string
	config  string   // Path of jobgraph.yaml; empty if there is none.
	experts []string // The folder experts/, if it has cards.
}

// folderConfig is the configuration file of a folder.
const folderConfig = "jobgraph.yaml"

// look finds the files of a folder.
func look(dir string) folder {
	found := folder{dir: dir}
	if path := filepath.Join(dir, folderConfig); regular(path) {
		found.config = path
	}
	path := filepath.Join(dir, "experts")
	entries, _ := os.ReadDir(path) // A missing folder has no entries.
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return filepath.Ext(e.Name()) == ".md" && regular(filepath.Join(path, e.Name()))
	}) {
		found.experts = []string{path}
	}
	return found
}

func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// empty reports whether there is nothing to use.
func (d folder) empty() bool { return d.config == "" && len(d.experts) == 0 }

// names describes the found files for a message, such as "jobgraph.yaml and experts/ (2 experts)".
func (d folder) names(cards int) string {
	var parts []string
	if d.config != "" {
		parts = append(parts, folderConfig)
	}
	if len(d.experts) > 0 {
		parts = append(parts, "experts/")
	}
	count := ""
	switch {
	case cards == 1:
		count = " (1 expert)"
	case cards > 1:
		count = fmt.Sprintf(" (%d experts)", cards)
	}
	return strings.Join(parts, " and ") + count
}

// place names the folder for a message.
func (d folder) place() string {
	if d.dir == "." {
		return "this folder"
	}
	return d.dir
}

// path returns the absolute path of the folder without links, as the store of trust records it.
func (d folder) path() (string, error) {
	path, err := filepath.Abs(d.dir)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	return path, err
}

// harmlessSettings are the settings of services that a configuration file in a folder may set: none of them names a program, an
// address, a key or a file.
var harmlessSettings = []string{"default-expert", "expert-wait", "keep-failed", "kill-grace", "openai-model", "orphan-after", "prefetch", "unattended"}

// examined is a folder with what its files would do.
type examined struct {
	folder
	*runner.Survey
	env host.Env
	// secrets are the secret variables that the files read.
	secrets []string
}

// examine reads the files of a folder. Secret variables have placeholder values, except those that were given by name. Errors:
// host.Faults for files that are wrong, or that want what no file of a folder gets.
func (g folders) examine(d folder, all host.Env, given []string) (*examined, error) {
	env := func(name string) (string, bool) {
		value, found := all(name)
		if found && host.Secretive(name, value) && !slices.Contains(given, name) {
			return "withheld", true
		}
		return value, found
	}
	faults := refusedSettings(d.config)
	survey, err := runner.Examine(d.dir, d.config, d.experts, env)
	if err == nil {
		faults = append(faults, d.outside(survey.Files)...)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	if err != nil {
		return nil, err
	}
	e := &examined{folder: d, Survey: survey, env: all}
	for _, name := range survey.Variables {
		if value, _ := all(name); host.Secretive(name, value) {
			e.secrets = append(e.secrets, name)
		}
	}
	return e, nil
}

// refusedSettings returns faults for settings of a configuration file that only a person may choose.
func refusedSettings(path string) (faults host.Faults) {
	if path == "" {
		return nil
	}
	names, err := host.FileSettings(path)
	if err != nil {
		return nil // Its faults are found when it is read as a whole.
	}
	for _, name := range names {
		if slices.Contains(harmlessSettings, name[strings.LastIndex(name, ".")+1:]) {
			continue
		}
		faults = append(faults, host.Fault{
			Code: events.CodeNotPermitted, File: path, Field: name, Message: "is no setting that a file of this folder may have",
			Hint: "take it out, give it as a flag or variable, or name the file with --config if it is yours",
		})
	}
	return faults
}

// outside returns faults for included files that lie outside the folder or are hidden in it: they may hold secrets.
func (d folder) outside(files []string) (faults host.Faults) {
	root, err := d.path()
	for _, name := range files {
		path := name
		if err == nil {
			if path, err = filepath.Abs(name); err == nil {
				path, err = filepath.EvalSymlinks(path)
			}
		}
		relative := ""
		if err == nil {
			relative, err = filepath.Rel(root, path)
		}
		hidden := slices.ContainsFunc(strings.Split(relative, string(filepath.Separator)), func(part string) bool { return strings.HasPrefix(part, ".") })
		if err != nil || hidden || !filepath.IsLocal(relative) {
			faults = append(faults, host.Fault{
				Code: events.CodeNotPermitted, File: name, Message: "is not inserted: a file of this folder may insert only files of it that are not hidden",
				Hint: "name the configuration with --config if it is yours",
			})
		}
	}
	return faults
}

// use returns the files of the current folder that may be used, once a person trusts them: no files if config says that a
// configuration was named, and no cards if experts says that cards were. It prints once what it found.
func (g folders) use(f *folderFlags, env host.Env, config, experts bool) (folder, error) {
	d := look(".")
	if config { // A configuration names its own experts.
		d.config, d.experts = "", nil
	}
	if experts {
		d.experts = nil
	}
	if f.leave || d.empty() {
		return folder{}, nil
	}
	e, err := g.examine(d, env, f.variables)
	if err != nil {
		g.app.note("the files of this folder cannot be used; --no-folder leaves them alone")
		return folder{}, err
	}
	if len(e.Uses) == 0 {
		g.app.note("using %s of this folder", d.names(e.Cards))
		return d, nil
	}
	return g.judge(f, e)
}

// beside returns the cards beside a job file if they may be used. At a terminal the person is asked about cards that do more than
// describe. Without one, naming a job file of another folder is enough, but not for secrets and not in the current folder, which
// may have been cloned.
func (g folders) beside(f *folderFlags, env host.Env, cards string, here bool) (folder, error) {
	d := folder{dir: filepath.Dir(cards), experts: []string{cards}}
	e, err := g.examine(d, env, f.variables)
	if err != nil || len(e.Uses) == 0 {
		return d, err
	}
	if typing := g.app.sys.Typing && !g.app.noInput; !typing && !here && len(e.missing(f.variables)) == 0 {
		g.app.note("using %s beside the job file", d.names(e.Cards))
		return d, nil
	}
	return g.judge(f, e)
}

// missing lists the secrets that the files read and that were not given by name.
func (e *examined) missing(given []string) []string {
	return slices.DeleteFunc(slices.Clone(e.secrets), func(name string) bool { return slices.Contains(given, name) })
}

// judge decides about files that do more than describe an expert.
func (g folders) judge(f *folderFlags, e *examined) (folder, error) {
	path, err := e.path()
	if err != nil {
		return folder{}, err
	}
	entry, known, err := g.store().Get(path)
	if err != nil {
		return folder{}, err
	}
	same := known && entry.Digest == e.Digest
	given := slices.Clone(f.variables)
	if same {
		given = append(given, entry.Variables...)
	}
	missing := e.missing(given)
	if (same || f.trust) && len(missing) == 0 {
		g.app.note("using %s of %s, as trusted", e.names(e.Cards), e.place())
		return e.folder, nil
	}
	if g.app.noInput || !g.app.sys.Typing {
		return folder{}, g.refusal(e, missing, same || f.trust, known && !same)
	}
	return g.ask(f, e, path, given, missing)
}

// refusal returns the error for an untrusted folder when this run cannot ask: off a terminal, or with --no-input.
func (g folders) refusal(e *examined, missing []string, trusted, changed bool) error {
	g.app.complain(strings.TrimSuffix(e.list(), "\n"))
	fault := &events.Fault{
		Code: events.CodeNotPermitted, Message: e.names(e.Cards) + " of " + e.place() + " are not trusted, and this run cannot ask",
		Hint: "`jobgraph trust add` trusts them from now on, --trust for this time; --no-folder leaves them alone",
	}
	switch {
	case trusted:
		fault.Message = e.names(e.Cards) + " of " + e.place() + " read secrets that they were not given by name: " + strings.Join(missing, ", ")
		fault.Hint = "give them with --trust-env " + strings.Join(missing, ",") + "; --no-folder leaves the files alone"
	case changed:
		fault.Message = e.names(e.Cards) + " of " + e.place() + " have changed since they were trusted, and this run cannot ask"
	}
	return fmt.Errorf("%w: %w", bus.ErrNotPermitted, fault)
}

// list shows what the files would do, without cuts: a person cannot judge what is hidden.
func (e *examined) list() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s would\n", e.names(e.Cards), output.Visible(e.place()))
	for _, u := range e.Uses {
		fmt.Fprintf(&b, "  %-6s %s  (%s)\n", u.Does, output.Visible(u.What), output.Visible(u.Place))
	}
	return b.String()
}

// ask lets the person at the terminal decide, and remembers a yes.
func (g folders) ask(f *folderFlags, e *examined, path string, given, missing []string) (folder, error) {
	without := func() (folder, error) {
		g.app.note("going on without the files of %s", e.place())
		return folder{}, nil
	}
	_, _ = io.WriteString(g.app.sys.Stderr, e.list()) // If it cannot be shown, no answer is read.
	answer, err := g.line("Do you trust them? yes, or no to go on without them> ")
	if err != nil || !slices.Contains([]string{"yes", "y"}, strings.ToLower(answer)) {
		if err != nil {
			return folder{}, err
		}
		return without()
	}
	for _, name := range missing {
		answer, err := g.line(fmt.Sprintf("They read the secret %s. Type its name to let them> ", name))
		if err != nil {
			return folder{}, err
		}
		if answer != name {
			return without()
		}
	}
	again, err := g.examine(e.folder, e.env, f.variables)
	if err != nil {
		return folder{}, err
	}
	if again.Digest != e.Digest {
		return folder{}, &events.Fault{Code: events.CodeConflict, Message: "the files of " + e.place() + " have changed meanwhile", Hint: "look at them again"}
	}
	return e.folder, g.remember(e, path, append(given, missing...))
}

// remember stores the trust in a folder, with the secrets that it was given.
func (g folders) remember(e *examined, path string, given []string) error {
	entry := trust.Entry{Folder: path, Digest: e.Digest, Since: g.app.now().UTC()}
	for _, name := range e.secrets {
		if slices.Contains(given, name) {
			entry.Variables = append(entry.Variables, name)
		}
	}
	return g.store().Put(entry)
}

// line asks for one line and reads nothing beyond it. The end of the input counts as an empty answer.
func (g folders) line(prompt string) (string, error) {
	_, _ = io.WriteString(g.app.sys.Stderr, prompt) // If it cannot be shown, no answer is read.
	read := make(chan string, 1)
	go func() { // It ends with the line, or at the latest with the process: a read of a terminal cannot be cancelled.
		var text []byte
		for one := make([]byte, 1); ; {
			n, err := g.app.sys.Stdin.Read(one)
			if n == 1 && one[0] != '\n' {
				text = append(text, one[0])
			}
			if err != nil || n == 1 && one[0] == '\n' {
				read <- strings.TrimSpace(string(text))
				return
			}
		}
	}()
	select {
	case text := <-read:
		return text, nil
	case <-g.app.soft.Done():
		return "", context.Cause(g.app.soft)
	}
}

// store returns the store in which trust is remembered.
func (g folders) store() trust.Store {
	return trust.At(filepath.Join(g.app.configFolder(), "trust.json"))
}

// configFolder returns the folder for this program's configuration of the user.
func (a *app) configFolder() string {
	if dir, ok := a.sys.Env("XDG_CONFIG_HOME"); ok && dir != "" {
		return filepath.Join(dir, "jobgraph")
	}
	home, _ := a.sys.Env("HOME")
	return filepath.Join(home, ".config", "jobgraph")
}
