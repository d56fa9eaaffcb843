package app

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// Sandbox says whether the program can start itself as the helper that puts programs of experts into a sandbox. The zero value
// cannot.
type Sandbox = sandbox.Helper

// HookSandbox must be the first call of a main that runs experts of kind command: in a process that was started as the helper it
// never returns. Put its result into Deps.
func HookSandbox() Sandbox { return sandbox.Hook() }

// sandboxSpec is what a program of kind command may do, according to its card.
type sandboxSpec struct {
	// Level is auto, best-effort, namespaces, landlock or none; the runner's --sandbox if omitted.
	Level sandbox.Level `yaml:"sandbox"`
	// Network lets the program reach the network; off by default.
	Network bool `yaml:"network"`
	// Unix lets the program use sockets of the file system, such as that of a database; off by default.
	Unix bool `yaml:"unix"`
	// Read are files and folders that it may read in addition to the system's programs; relative to the card.
	Read []string `yaml:"read"`
	// Write are files and folders that it may read and write in addition to its workspace; relative to the card.
	Write []string `yaml:"write"`
	// Limits bounds its use of the machine.
	Limits sandbox.Limits `yaml:"limits"`
}

// faults lists everything that is wrong with it.
func (b *sandboxSpec) faults() events.Faults {
	var faults events.Faults
	add := func(field, message, hint string) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: field, Message: message, Hint: hint})
	}
	if b.Level != "" {
		if err := b.Level.Valid(); err != nil {
			add("sandbox", err.Error(), "")
		}
	}
	wrong := b.Limits.Faults()
	for _, key := range slices.Sorted(maps.Keys(wrong)) {
		add("limits."+key, wrong[key].Error(), "")
	}
	for _, list := range []struct {
		field string
		paths []string
	}{{"read", b.Read}, {"write", b.Write}} {
		for i, path := range list.paths {
			if path == "" || strings.ContainsRune(path, 0) {
				add(fmt.Sprintf("%s[%d]", list.field, i), fmt.Sprintf("%q is no path", path), "name a file or folder, relative to the card")
			}
		}
	}
	return faults
}

// policy returns what the program may do; relative paths start at dir.
func (b *sandboxSpec) policy(dir string) (sandbox.Policy, error) {
	p := sandbox.Policy{Network: b.Network, Unix: b.Unix, Limits: b.Limits}
	var err error
	if p.Read, err = from(dir, b.Read); err != nil {
		return p, err
	}
	p.Write, err = from(dir, b.Write)
	return p, err
}

func from(dir string, paths []string) ([]string, error) {
	list := make([]string, 0, len(paths))
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("path %s: %w", path, err)
		}
		list = append(list, full)
	}
	return list, nil
}

// box returns the sandbox of a card's programs; nil if cards are only checked.
func (s *Settings) box(f *cardFile) (*sandbox.Box, sandbox.Policy, error) {
	return s.open(&f.Kinds.Command.Box, filepath.Dir(f.path))
}

// open returns the sandbox of programs; nil if cards are only checked. Relative paths start at dir.
func (s *Settings) open(spec *sandboxSpec, dir string) (*sandbox.Box, sandbox.Policy, error) {
	return s.openBy((*sandbox.Boxes).Open, spec, dir)
}

// openUntrusted is open for programs that a model chooses.
func (s *Settings) openUntrusted(spec *sandboxSpec, dir string) (*sandbox.Box, sandbox.Policy, error) {
	return s.openBy((*sandbox.Boxes).OpenUntrusted, spec, dir)
}

func (s *Settings) openBy(open func(*sandbox.Boxes, sandbox.Level) (*sandbox.Box, error), spec *sandboxSpec, dir string) (*sandbox.Box, sandbox.Policy, error) {
	policy, err := spec.policy(dir)
	if err != nil || s.boxes == nil {
		return nil, policy, err
	}
	box, err := open(s.boxes, cmp.Or(spec.Level, sandbox.Level(s.Sandbox)))
	return box, policy, err
}

// maxWhy limits the reason on a card why its sandbox is not stricter, in bytes.
const maxWhy = 300

// boxed adds the tag of the sandbox to the tags of a card; only the runner may set it.
func boxed(tags []string, box *sandbox.Box) []string {
	tags = slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return strings.HasPrefix(tag, events.SandboxTag) })
	if box == nil {
		return tags
	}
	why := box.Why()
	why = strings.ToValidUTF8(why[:min(len(why), maxWhy)], "")
	return append(tags, strings.TrimSpace(events.SandboxTag+string(box.Level())+" "+why))
}

// hookBox returns the sandbox of a card's reconcile program: that of the card, if its kind has one.
func (s *Settings) hookBox(f *cardFile) (*sandbox.Box, sandbox.Policy, error) {
	if f.Kind != kindCommand {
		return nil, sandbox.Policy{}, nil
	}
	return s.box(f)
}
