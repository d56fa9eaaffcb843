package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

// child is the program of a server. Its goroutines end with it, and stop waits for them.
type child struct {
	group   *process.Group
	pipes   *process.Pipes
	dir     string // Its home, removed at the end.
	tail    process.Tail
	reading sync.WaitGroup // The goroutine at standard error.
}

// startChild runs the program of a server in a group of its own, at home in a fresh directory.
func startChild(s *Server, p Settings) (*child, error) {
	dir, err := workspace.Make(p.WorkDir)
	if err != nil {
		return nil, err
	}
	x := &child{dir: dir, tail: process.Tail{Limit: maxTail, Redactor: p.Secrets.Redactor()}}
	if err := x.start(s, p); err != nil {
		_ = workspace.Discard(dir) // It is empty.
		return nil, err
	}
	return x, nil
}

func (x *child) start(s *Server, p Settings) error {
	cwd := s.Cwd
	if !filepath.IsAbs(cwd) {
		cwd = filepath.Join(p.Dir, cwd)
	}
	path, err := findProgram(s, cwd, p.Path)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, s.Args...) //nolint:noctx // Its end takes several steps, see stop.
	cmd.Dir, cmd.Env = cwd, environ(s, p.Path, x.dir)
	if x.pipes, err = process.Connect(cmd); err != nil {
		return err
	}
	x.group, err = p.Keeper.Keep(cmd)
	x.pipes.Started()
	if err != nil {
		x.pipes.Close()
		return err
	}
	x.reading.Go(func() { _, _ = io.Copy(&x.tail, x.pipes.Stderr) }) // It ends when the pipe does, whatever the reason.
	return nil
}

// stop ends the program: its input closes, then it is told to end, then it is killed with its whole group.
func (x *child) stop(grace time.Duration) {
	_ = x.pipes.Stdin.Close() // It may be closed already.
	if !x.group.Ends(grace) {
		x.group.End(grace)
	}
	x.pipes.Until(time.Now().Add(lastWords)) // A child that has left the group may hold them for ever.
	x.reading.Wait()
	x.pipes.Close()
	_ = workspace.Discard(x.dir) // The next sweep finds what could not be removed.
}

// lastWords is how long what an ended program has said may take to be read.
const lastWords = time.Second

// environ is the whole environment of a program: nothing of the runner's own is in it.
func environ(s *Server, path, dir string) []string {
	env := []string{
		"PATH=" + path, "HOME=" + dir, "TMPDIR=" + filepath.Join(dir, workspace.TempDir), "LANG=C.UTF-8", "JOBGRAPH_WORKSPACE=" + dir,
	}
	for name, value := range s.Env { // any order: names are told apart.
		env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// errNoProgram marks a program that is not there.
var errNoProgram = errors.New("no such program")

// findProgram looks a name up in the PATH of the program, a path from where it works.
func findProgram(s *Server, cwd, path string) (string, error) {
	if given := s.Env["PATH"]; given != "" {
		path = given
	}
	if strings.ContainsRune(s.Command, '/') {
		program := s.Command
		if !filepath.IsAbs(program) {
			program = filepath.Join(cwd, program)
		}
		if !executable(program) {
			return "", fmt.Errorf("%w: %s is no executable file", errNoProgram, s.Command)
		}
		return filepath.Abs(program)
	}
	for _, dir := range filepath.SplitList(path) {
		if program := filepath.Join(dir, s.Command); filepath.IsAbs(program) && executable(program) {
			return program, nil
		}
	}
	return "", fmt.Errorf("%w: %q is in none of %s", errNoProgram, s.Command, path)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// maxTail is how much of what a program says on standard error is kept, in bytes.
const maxTail = 2 << 10
