package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

// Boxes tries the levels, each at most once. It may be used by any number of goroutines.
type Boxes struct {
	helper Helper
	mu     sync.Mutex // Guards tried, and is held during a probe.
	tried  map[Level]trial
}

// trial is the result of trying a level: the version of Landlock, or why the level is not available.
type trial struct {
	version int
	err     error
}

// NewBoxes makes boxes of this program's helper.
func NewBoxes(h Helper) *Boxes { return &Boxes{helper: h, tried: map[Level]trial{}} }

// Box runs programs at one level.
type Box struct {
	level   Level
	why     string
	version int // The version of Landlock that the probe found.
	newest  int // The newest version of Landlock to use; 0 means the kernel's.
}

// Level is the level in force: namespaces, landlock or none.
func (b *Box) Level() Level { return b.level }

// Why says why no stricter level is in force, on one line; empty at the strictest.
func (b *Box) Why() string { return b.why }

// byName is the reason if this level was requested explicitly.
const byName = "asked for by name"

// Open returns the box of a level. Auto is the strongest available one, never None; BestEffort never fails. The error is an
// ErrUnavailable that says what is missing, and what to do instead.
func (x *Boxes) Open(level Level) (*Box, error) {
	asked := []Level{level}
	switch level {
	case None:
		return &Box{level: None, why: byName}, nil
	case Auto, BestEffort:
		asked = []Level{Namespaces, Landlock}
	}
	why := ""
	if level == Landlock {
		why = byName
	}
	for _, l := range asked {
		tried := x.try(l)
		if tried.err == nil {
			return &Box{level: l, why: why, version: tried.version, newest: x.helper.Old}, nil
		}
		why = strings.TrimPrefix(why+"; "+strings.Join(strings.Fields(fmt.Sprintf("%s: %v", l, tried.err)), " "), "; ")
	}
	if level == BestEffort {
		return &Box{level: None, why: why}, nil
	}
	return nil, fmt.Errorf("%w at level %s (%s): allow it on this machine, or run the program without: sandbox: none or best-effort on its card, or --sandbox none for all",
		ErrUnavailable, level, why)
}

// OpenUntrusted is Open for programs that a model chose. Auto never yields a level at which they could signal other processes of
// their user, or empty their files.
func (x *Boxes) OpenUntrusted(level Level) (*Box, error) {
	box, err := x.Open(level)
	if err != nil || level != Auto || box.level != Landlock || box.version >= versionOfScopes {
		return box, err
	}
	return nil, fmt.Errorf("%w for what a model chooses: level landlock keeps no signals from other processes before Linux 6.12 (%s): "+
		"allow user namespaces, or allow it by name: sandbox: landlock below run on the card", ErrUnavailable, box.why)
}

func (x *Boxes) try(level Level) trial {
	x.mu.Lock()
	defer x.mu.Unlock()
	tried, known := x.tried[level]
	if !known {
		tried.version, tried.err = x.probe(level)
		x.tried[level] = tried
	}
	return tried
}

// probe lets the helper do everything at a level except execute a program, and returns the version of Landlock.
func (x *Boxes) probe(level Level) (version int, err error) {
	switch {
	case !supported:
		return 0, errors.New("this system has none")
	case !x.helper.hooked:
		return 0, errors.New("the program around the runner does not call HookSandbox first in its main")
	}
	if level == Namespaces && x.helper.Old > 0 {
		return 0, errors.New("an old machine has none")
	}
	o := newOrder(level, Policy{})
	o.Newest = x.helper.Old
	o.Probe, o.Reap = true, false
	cmd := &exec.Cmd{Path: "probe", Args: []string{"probe"}, Env: []string{}}
	e, err := wrap(cmd, level, &o)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	group, err := process.Start(cmd)
	e.Started()
	if err != nil {
		return 0, err
	}
	ending, err := group.Wait()
	said, fault := e.read()
	switch {
	case fault != nil:
		return 0, fault
	case said.Fault != "":
		return 0, fmt.Errorf("enter sandbox: %s", said.Fault)
	case err != nil:
		return 0, err
	case ending != (process.Ending{}):
		return 0, fmt.Errorf("the helper ended with %s", ending)
	}
	return said.Version, nil
}

// Wrap changes a program that was not started yet to run in the box. Call Entry.Started once it was started.
func (b *Box) Wrap(cmd *exec.Cmd, p Policy) (*Entry, error) {
	if b.level == None {
		return &Entry{}, nil
	}
	p.Read = append(slices.Clone(p.Read), named(cmd)...)
	o := newOrder(b.level, p)
	o.Newest = b.newest
	return wrap(cmd, b.level, &o)
}

// named returns the program and the files that its arguments name by absolute paths.
func named(cmd *exec.Cmd) []string {
	files := []string{cmd.Path}
	for _, arg := range cmd.Args[min(1, len(cmd.Args)):] {
		if info, err := os.Stat(arg); filepath.IsAbs(arg) && err == nil && info.Mode().IsRegular() {
			files = append(files, arg)
		}
	}
	return files
}

func newOrder(level Level, p Policy) order {
	return order{
		Init: level == Namespaces, Reap: level == Landlock, Spaces: level == Namespaces, Landlock: true, Network: p.Network, Unix: p.Unix, Untrusted: p.Untrusted,
		Read:  append(systemRead(), p.Read...),
		Write: append(systemWrite(), p.Write...), Limits: p.Limits.Filled(),
	}
}

// maxOrder is the capacity of a pipe without a reader, in bytes.
const maxOrder = 60 << 10

// wrap makes cmd start the helper.
func wrap(cmd *exec.Cmd, level Level, o *order) (*Entry, error) {
	o.Passed = len(cmd.ExtraFiles)
	if o.Passed > 0 && !o.Init {
		return nil, errors.New("enter sandbox: only a program at level namespaces gets further descriptors")
	}
	body, err := json.Marshal(o)
	if err == nil && len(body) > maxOrder {
		err = errors.New("the paths of its card are too many")
	}
	if err != nil {
		return nil, fmt.Errorf("enter sandbox: %w", err)
	}
	e := &Entry{}
	orders, told, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("enter sandbox: %w", err)
	}
	e.childs = []*os.File{orders}
	_, err = told.Write(body)
	if err = errors.Join(err, told.Close()); err != nil {
		e.Started()
		return nil, fmt.Errorf("enter sandbox: %w", err)
	}
	says, child, err := os.Pipe()
	if err != nil {
		e.Started()
		return nil, fmt.Errorf("enter sandbox: %w", err)
	}
	e.says, e.childs = says, append(e.childs, child)
	cmd.ExtraFiles = append([]*os.File{orders, child}, cmd.ExtraFiles...) // Descriptors 3, 4, and those of the program.
	cmd.Args = slices.Concat([]string{"jobgraph-sandbox", argument, cmd.Path}, cmd.Args)
	cmd.Path = process.Self()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	isolate(cmd.SysProcAttr, level, o.Network)
	return e, nil
}

// Entry is a program that is about to be started in the box.
type Entry struct {
	says   *os.File // nil without a helper.
	childs []*os.File
}

// Started closes our copies of the program's descriptors, whether or not it was started.
func (e *Entry) Started() { closeAll(e.childs) }

// Close closes the descriptor on which the helper reports, once Ending is not needed any more.
func (e *Entry) Close() {
	if e.says != nil {
		closeAll([]*os.File{e.says})
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // It may be closed already.
	}
}

// lastWords bounds reading the last output of a helper that has ended.
const lastWords = time.Minute

// Ending returns how a program ended according to the helper. If by is false, the helper did not wait for it, and the status of the
// operating system counts. The error is the helper's own: the program never ran.
func (e *Entry) Ending() (code int, signal syscall.Signal, by bool, err error) {
	s, err := e.read()
	switch {
	case err != nil:
		return 0, 0, false, err
	case s.Fault != "":
		return 0, 0, false, fmt.Errorf("enter sandbox: %s", s.Fault)
	}
	return s.Code, syscall.Signal(s.Signal), s.Ended, nil
}

func (e *Entry) read() (s said, err error) {
	if e.says == nil {
		return s, nil
	}
	_ = e.says.SetReadDeadline(time.Now().Add(lastWords)) // Setting a deadline on a pipe does not fail.
	body, _ := io.ReadAll(e.says)                         // The output so far is complete.
	if len(body) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return s, fmt.Errorf("enter sandbox: %w", err)
	}
	return s, nil
}
