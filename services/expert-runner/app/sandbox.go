package app

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// Sandbox says that the program around the runner can be started again as the helper that puts programs of experts into
// a sandbox. The zero value cannot.
type Sandbox = sandbox.Helper

// HookSandbox has to be the first call of a main that runs experts of kind command: in a process that was started as the helper it
// never returns. What it gives goes into Deps.
func HookSandbox() Sandbox { return sandbox.Hook() }

// boxFront says on a card what the program of an expert of kind command may do.
type boxFront struct {
	// Level is auto, best-effort, namespaces, landlock or none; the runner's --sandbox when left out.
	Level sandbox.Level `yaml:"sandbox"`
	// Network lets the program reach the network; off by default.
	Network bool `yaml:"network"`
	// Read are files and folders that it may read, beside the system's own programs; relative to the card.
	Read []string `yaml:"read"`
	// Write are files and folders that it may read and write, beside its workspace; relative to the card.
	Write []string `yaml:"write"`
	// Limits bound what it takes of the machine.
	Limits sandbox.Limits `yaml:"limits"`
}

func (b *boxFront) isZero() bool { return reflect.ValueOf(*b).IsZero() }

// faults are everything that is wrong with it.
func (b *boxFront) faults() events.Faults {
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

// policy is what the program may do; relative paths start at dir.
func (b *boxFront) policy(dir string) (sandbox.Policy, error) {
	p := sandbox.Policy{Network: b.Network, Limits: b.Limits}
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

// box is the sandbox of a card's programs; nil where cards are only looked at.
func (s *Settings) box(f *cardFile) (*sandbox.Box, sandbox.Policy, error) {
	policy, err := f.Box.policy(filepath.Dir(f.path))
	if err != nil || s.boxes == nil {
		return nil, policy, err
	}
	box, err := s.boxes.Open(cmp.Or(f.Box.Level, sandbox.Level(s.Sandbox)))
	return box, policy, err
}

// maxWhy is how much a card says of why its sandbox is no stricter one, in bytes.
const maxWhy = 300

// boxed are the tags of a card with that of its sandbox, which only its runner can know.
func boxed(tags []string, box *sandbox.Box) []string {
	tags = slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return strings.HasPrefix(tag, events.SandboxTag) })
	if box == nil {
		return tags
	}
	why := box.Why()
	why = strings.ToValidUTF8(why[:min(len(why), maxWhy)], "")
	return append(tags, strings.TrimSpace(events.SandboxTag+string(box.Level())+" "+why))
}

// hookBox is the sandbox of the program that a card asks about effects in doubt: that of the card, whose kind has one.
func (s *Settings) hookBox(f *cardFile) (*sandbox.Box, sandbox.Policy, error) {
	if f.Kind != kindCommand {
		return nil, sandbox.Policy{}, nil
	}
	return s.box(f)
}
