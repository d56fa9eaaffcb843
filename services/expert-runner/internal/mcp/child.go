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
	dir     string // Its home folder.
	kept    bool   // The folder must not be removed.
	release func() // Called after the end of the program; may be nil.
	tail    process.Tail
	reading sync.WaitGroup // The goroutine that reads standard error.
}

// startChild starts the program of a server in its own process group, in a fresh directory
// or in the workspace of a run. ended is as in Place.
func startChild(s *Server, p Settings, ended func(why error)) (*child, error) {
	x := &child{tail: process.Tail{Limit: maxTail, Redactor: p.Secrets.Redactor()}}
	if p.Place != nil {
		x.dir, x.kept = p.Place.Dir, true
	} else {
		dir, err := workspace.Make(p.WorkDir)
		if err != nil {
			return nil, err
		}
		x.dir = dir
	}
	if err := x.start(s, p, ended); err != nil {
		x.discard()
		return nil, err
	}
	return x, nil
}

// discard removes the home of a program. If it cannot be removed, the next sweep does so.
func (x *child) discard() {
	if !x.kept {
		_ = workspace.Discard(x.dir)
	}
}

func (x *child) start(s *Server, p Settings, ended func(why error)) error {
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
	if p.Place != nil {
		cmd.Dir = x.dir
	}
	if x.pipes, err = process.Connect(cmd); err != nil {
		return err
	}
	if p.Place != nil {
		x.group, x.release, err = p.Place.Start(cmd, s, ended)
	} else {
		x.group, err = p.Keeper.Keep(cmd)
	}
	x.pipes.Started()
	if err != nil {
		x.pipes.Close()
		return err
	}
	x.reading.Go(func() { _, _ = io.Copy(&x.tail, x.pipes.Stderr) }) // Ends when the pipe does.
	return nil
}

// stop ends the program: it closes its input, then asks it to end, then kills its whole group.
func (x *child) stop(grace time.Duration) {
	_ = x.pipes.Stdin.Close() // It may be closed already.
	if !x.group.Ends(grace) {
		x.group.End(grace)
	}
	x.pipes.Until(time.Now().Add(lastWords)) // A child that left the group may hold them open for ever.
	x.reading.Wait()
	x.pipes.Close()
	if x.release != nil {
		x.release()
	}
	x.discard()
}

// lastWords limits the time to read the last output of an ended program.
const lastWords = time.Second

// environ returns the whole environment of a program, which contains nothing of the runner's own.
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

// errNoProgram means that the program does not exist.
var errNoProgram = errors.New("no such program")

// findProgram looks up a name in the program's PATH, or a path relative to its working folder.
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

// maxTail limits the stored end of a program's standard error, in bytes.
const maxTail = 2 << 10
