package profile

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

//go:embed all:data
var embedded embed.FS

// Set holds all profiles and prompts.
type Set struct {
	profiles map[string]Entry
	prompts  map[string]map[string]*prompt // By language, then by name.
	version  string
	standard string // The profile of requests that name none.
}

// Entry is one profile with data that only people and tools need.
type Entry struct {
	planning.Profile
	// About is a one-sentence description for lists. File is where the profile was read from.
	About, File string
	// Default is true for the profile of requests that name none. A user's default takes precedence over the built-in one.
	Default bool
	own     bool // Built in.
}

// file is a file that was read. If two have the same name, the later one counts.
type file struct {
	name string // Its location, for people.
	data []byte
	own  bool // Built in.
}

// Read reads the built-in files and then the user's folders in order; nil folders are skipped. The error joins all faults
// of all files.
func Read(folders ...fs.FS) (*Set, error) {
	own, err := fs.Sub(embedded, "data")
	if err != nil {
		return nil, fmt.Errorf("read own profiles: %w", err)
	}
	files := map[string]file{}
	for i, folder := range append([]fs.FS{own}, folders...) {
		if folder == nil {
			continue
		}
		if err := collect(folder, i == 0, files); err != nil {
			return nil, err
		}
	}
	s := &Set{profiles: map[string]Entry{}, prompts: map[string]map[string]*prompt{}, version: versionOf(files)}
	faults := s.readPrompts(files)
	faults = append(faults, s.readProfiles(files)...)
	if len(faults) == 0 {
		faults = s.choose()
	}
	return s, errors.Join(faults...)
}

// collect reads the files of a folder. A file that is neither a profile nor a prompt is a fault: a misplaced file would
// otherwise be ignored silently.
func collect(folder fs.FS, own bool, files map[string]file) error {
	var faults []error
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path.Base(name), ".") {
			return err
		}
		if !isProfile(name) && !isPrompt(name) {
			faults = append(faults, fmt.Errorf("%s: neither profiles/NAME.yaml nor prompts/LANGUAGE/NAME.tmpl", name))
			return nil
		}
		data, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		from := name
		if own {
			from = "(built in) " + name
		}
		files[name] = file{name: from, data: data, own: own}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read profiles: %w", err)
	}
	return errors.Join(faults...)
}

func isProfile(name string) bool {
	return path.Dir(name) == "profiles" && path.Ext(name) == ".yaml"
}

func isPrompt(name string) bool {
	return path.Dir(path.Dir(name)) == "prompts" && path.Ext(name) == ".tmpl"
}

// versionOf returns a digest of everything that was read, short enough for a log line.
func versionOf(files map[string]file) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum.Write([]byte(name + "\x00"))
		sum.Write(files[name].data)
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// choose finds the profile of requests that name none.
func (s *Set) choose() []error {
	var marked []Entry
	for _, name := range s.Names() {
		if e := s.profiles[name]; e.Default {
			marked = append(marked, e)
		}
	}
	if slices.ContainsFunc(marked, func(e Entry) bool { return !e.own }) {
		marked = slices.DeleteFunc(marked, func(e Entry) bool { return e.own })
	}
	switch len(marked) {
	case 0:
		return []error{errors.New("no profile has default: true")}
	case 1:
		s.standard = marked[0].Name
		return nil
	}
	return []error{fmt.Errorf("%s and %s both have default: true", marked[0].File, marked[1].File)}
}

// Get returns a profile; an empty name means the default one.
func (s *Set) Get(name string) (Entry, bool) {
	if name == "" {
		name = s.standard
	}
	e, ok := s.profiles[name]
	return e, ok
}

// Names lists the profiles, sorted by name.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.profiles)) }

// Version changes with any change of a profile or prompt.
func (s *Set) Version() string { return s.version }

func (s *Set) readProfiles(files map[string]file) []error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !isProfile(name) {
			continue
		}
		e, bad := parse(files[name])
		bad = append(bad, s.judge(&e, strings.TrimSuffix(path.Base(name), ".yaml"))...)
		if faults = append(faults, bad...); len(bad) == 0 {
			s.profiles[e.Name] = e
		}
	}
	return faults
}

// judge checks the references of a profile to prompts.
func (s *Set) judge(e *Entry, name string) []error {
	var faults []error
	if e.Name != name {
		faults = append(faults, fmt.Errorf("%s: name is %q, expected %q like the file", e.File, e.Name, name))
	}
	for _, stage := range slices.Sorted(maps.Keys(e.Prompts)) {
		if !s.has(e.Prompts[stage]) {
			faults = append(faults, fmt.Errorf("%s: prompts.%s: there is no prompt %q; there are %s", e.File, stage, e.Prompts[stage], strings.Join(s.promptNames(), ", ")))
		}
	}
	return faults
}
