package command

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// Defaults of a Config.
const (
	// DefaultStdout is how much a program may print as its result, in bytes.
	DefaultStdout = 8 << 20
	// DefaultGrace is how long a program may take to end when it is told to, before it is killed.
	DefaultGrace = 2 * time.Second
	// DefaultPath is where programs are looked up by default.
	DefaultPath = "/usr/local/bin:/usr/bin:/bin"
)

// Config says how to run one program.
type Config struct {
	// Argv is the program and its arguments. A program with a slash in its name is a path, relative to Dir; one without is
	// looked up in Path. Arguments are passed as they are.
	Argv []string
	// Dir is what a relative program is relative to: the folder of the card.
	Dir string
	// Env is added to the clean environment, and wins over it.
	Env map[string]string
	// Path is the program's PATH; DefaultPath when empty.
	Path string
	// Stdout bounds the result in bytes; DefaultStdout when 0.
	Stdout int64
	// Grace is the time between SIGTERM and SIGKILL; DefaultGrace when 0.
	Grace time.Duration
	// Workspaces is where the directories of runs are made; the system's folder for temporary files when empty.
	Workspaces string
	// KeepFailed leaves the directory of a run that did not end in SUCCESS, for diagnosis.
	KeepFailed bool
	// Artifacts are patterns of files in the workspace that a SUCCESS hands on; none when empty.
	Artifacts []string
	// Box is what the program is run in, under Policy; nil runs it as it is. The workspace may be written in any case.
	Box    *sandbox.Box
	Policy sandbox.Policy
	// Secrets are taken out of what the program prints; nil holds none.
	Secrets *redact.Set
	// Keeper ends the program when the runner dies, or does not renew its claim; nil starts it without.
	Keeper *process.Keeper
}

// fill puts the defaults in and finds the program.
func (c *Config) fill() error {
	if c.Path == "" {
		c.Path = DefaultPath
	}
	if c.Stdout == 0 {
		c.Stdout = DefaultStdout
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return errors.New("command is empty: give the program and its arguments as a list")
	}
	for key := range c.Env {
		if key == "" || strings.ContainsAny(key, "=\x00") || strings.ContainsRune(c.Env[key], 0) {
			return fmt.Errorf("env %q: a name has no = and nothing has a zero byte", key)
		}
	}
	for _, arg := range c.Argv {
		if strings.ContainsRune(arg, 0) {
			return fmt.Errorf("command %q: an argument has a zero byte", arg)
		}
	}
	program, err := c.find(c.Argv[0])
	if err != nil {
		return err
	}
	c.Argv = append([]string{program}, c.Argv[1:]...)
	return nil
}

func (c *Config) find(program string) (string, error) {
	if strings.ContainsRune(program, '/') {
		if !filepath.IsAbs(program) {
			program = filepath.Join(c.Dir, program)
		}
		path, err := filepath.Abs(program)
		if err != nil {
			return "", fmt.Errorf("find program %s: %w", program, err)
		}
		return path, executable(path)
	}
	path := c.Path
	if given := c.Env["PATH"]; given != "" {
		path = given
	}
	for _, dir := range filepath.SplitList(path) {
		candidate := filepath.Join(dir, program)
		if filepath.IsAbs(candidate) && executable(candidate) == nil {
			return candidate, nil
		}
	}
	return "", AbsentError(fmt.Sprintf("program %q is in none of %s: give its path, relative to the card, or install it", program, path))
}

// AbsentError says that a program is not there: it may still be built, or is on another machine.
type AbsentError string

// Error says which program, and what to do.
func (e AbsentError) Error() string { return string(e) }

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return AbsentError(fmt.Sprintf("program %s does not exist: build it first, or correct the path", path))
	case err != nil:
		return fmt.Errorf("find program: %w", err)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("program %s is not executable: chmod +x it, or name the interpreter first", path)
	}
	return nil
}

// environ is the whole environment of a run: nothing of the runner's own is in it.
func (c *Config) environ(dir string, facts map[string]string) []string {
	env := map[string]string{
		"PATH": c.Path, "HOME": dir, "TMPDIR": filepath.Join(dir, workspace.TempDir), "LANG": "C.UTF-8",
	}
	maps.Copy(env, facts)
	maps.Copy(env, c.Env)
	list := make([]string, 0, len(env))
	for _, key := range slices.Sorted(maps.Keys(env)) {
		list = append(list, key+"="+env[key])
	}
	return list
}
