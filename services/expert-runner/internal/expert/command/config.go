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
	// DefaultStdout is the largest result that a program may print, in bytes.
	DefaultStdout = 8 << 20
	// DefaultGrace is the time between the request to end and the kill.
	DefaultGrace = 2 * time.Second
	// DefaultPath is the default search path of programs.
	DefaultPath = "/usr/local/bin:/usr/bin:/bin"
)

// Config says how to run a program.
type Config struct {
	// Argv is the program and its arguments. A program with a slash in its name is a path relative to Dir; any other is
	// looked up in Path. Arguments are passed unchanged.
	Argv []string
	// Dir is the base of a relative program path: the folder of the card.
	Dir string
	// Env is added to the clean environment and takes precedence over it.
	Env map[string]string
	// Path is the program's PATH; DefaultPath if empty.
	Path string
	// Stdout limits the result in bytes; DefaultStdout if 0.
	Stdout int64
	// Grace is the time between SIGTERM and SIGKILL; DefaultGrace if 0.
	Grace time.Duration
	// Workspaces is the folder for the directories of runs; the system's folder for temporary files if empty.
	Workspaces string
	// KeepFailed keeps the directory of a run that did not end in SUCCESS, for diagnosis.
	KeepFailed bool
	// Artifacts are patterns of files in the workspace that a SUCCESS delivers; none if empty.
	Artifacts []string
	// Box is the sandbox of the program, under Policy; nil means none. The program may always write to its workspace.
	Box    *sandbox.Box
	Policy sandbox.Policy
	// Secrets are removed from what the program prints; may be nil.
	Secrets *redact.Set
	// Keeper ends the program when the runner dies or does not renew its claim; may be nil.
	Keeper *process.Keeper
}

// fill sets defaults and finds the program.
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

// AbsentError means that the program does not exist: it may still have to be built, or is on another machine.
type AbsentError string

// Error returns the message, with advice.
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

// environ returns the whole environment of a run, which contains nothing of the runner's own.
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
