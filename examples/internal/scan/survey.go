package scan

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits bound a survey. The zero value is not useful: start from DefaultLimits.
type Limits struct {
	// Visited is the largest number of files and folders that are visited.
	Visited int
	// FileBytes is the size above which a file is left out.
	FileBytes int64
	// Chosen is the largest number of files that are chosen.
	Chosen int
}

// DefaultLimits suit a repository or a collection of a few hundred megabytes.
func DefaultLimits() Limits { return Limits{Visited: 100_000, FileBytes: 1 << 20, Chosen: 1_500} }

// ErrNothing means that a folder has no file that an extraction could read.
var ErrNothing = errors.New("no readable source or text file")

// errEnough ends a walk that has reached its limit.
var errEnough = errors.New("enough")

// survey holds the state of one walk through a folder.
type survey struct {
	fsys    fs.FS
	limits  Limits
	closed  string
	visited int
	found   Inventory
	reasons map[string]*Reason
}

// Survey makes the inventory of fsys, whose absolute path is root. The folder closed, relative to the root, is not
// entered: it is where the results go. It returns ErrNothing, and the inventory with the reasons, when no file was
// chosen, and an error when the root itself cannot be read.
func Survey(ctx context.Context, fsys fs.FS, root, closed string, limits Limits) (Inventory, error) {
	s := &survey{fsys: fsys, limits: limits, closed: closed, reasons: map[string]*Reason{}}
	s.found.Root = root
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return s.visit(name, entry, err)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return Inventory{}, fmt.Errorf("survey %s: %w", root, err)
	}
	s.choose()
	if len(s.found.Chosen) == 0 {
		return s.found, ErrNothing
	}
	return s.found, nil
}

func (s *survey) visit(name string, entry fs.DirEntry, err error) error {
	if err != nil && name == "." {
		return err
	}
	s.visited++
	switch {
	case s.visited > s.limits.Visited:
		s.leave("more files than the survey looks at", name)
		return errEnough
	case err != nil:
		s.leave("not readable", name)
		return nil
	case entry.IsDir():
		return s.enter(name)
	case entry.Type()&fs.ModeSymlink != 0:
		s.leave("symbolic link", name)
	case !entry.Type().IsRegular():
		s.leave("not a regular file", name)
	default:
		s.file(name, entry)
	}
	return nil
}

func (s *survey) enter(name string) error {
	if s.closed != "" && name == s.closed {
		return fs.SkipDir
	}
	if why := closedFolder(path.Base(name)); why != "" {
		s.leave(why, name)
		return fs.SkipDir
	}
	return nil
}

func (s *survey) file(name string, entry fs.DirEntry) {
	info, err := entry.Info()
	if err != nil {
		s.leave("not readable", name)
		return
	}
	s.found.Files++
	s.found.Bytes += info.Size()
	language, kind, ok := languageOf(path.Base(name))
	switch {
	case !ok:
		s.leave("neither source nor text", name)
	case kind == Code && isTest(path.Base(name)):
		s.leave("test code", name)
	case info.Size() > s.limits.FileBytes:
		s.leave(fmt.Sprintf("larger than %d KiB", s.limits.FileBytes>>10), name)
	default:
		s.look(File{Path: name, Kind: kind, Language: language, Bytes: info.Size()})
	}
}

// look reads a file once to decide whether it is what its name says.
func (s *survey) look(f File) {
	raw, err := ReadFile(s.fsys, f.Path, s.limits.FileBytes)
	if err != nil {
		s.leave("not readable", f.Path)
		return
	}
	f.Lines = bytes.Count(raw, []byte("\n"))
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		s.leave("empty", f.Path)
	case IsBinary(raw):
		s.leave("binary in spite of its name", f.Path)
	case f.Kind == Code && isGenerated(raw):
		s.leave("generated", f.Path)
	case f.Kind == Code && len(raw)/(f.Lines+1) > 500:
		s.leave("minified", f.Path)
	default:
		s.found.Chosen = append(s.found.Chosen, f)
	}
}

func (s *survey) leave(reason, name string) {
	if r := s.reasons[reason]; r != nil {
		r.Count++
		return
	}
	s.reasons[reason] = &Reason{Reason: reason, Count: 1, Example: name}
}

// choose puts the files that matter first (near the root before deep, long before short), cuts the list and counts.
func (s *survey) choose() {
	slices.SortFunc(s.found.Chosen, func(a, b File) int {
		return cmp.Or(
			cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/")),
			cmp.Compare(b.Lines, a.Lines), cmp.Compare(a.Path, b.Path))
	})
	for _, f := range s.found.Chosen[min(len(s.found.Chosen), s.limits.Chosen):] {
		s.leave(fmt.Sprintf("beyond the %d most important files", s.limits.Chosen), f.Path)
	}
	s.found.Chosen = s.found.Chosen[:min(len(s.found.Chosen), s.limits.Chosen)]
	s.count()
	s.found.LeftOut = []Reason{}
	for _, key := range slices.Sorted(maps.Keys(s.reasons)) {
		s.found.LeftOut = append(s.found.LeftOut, *s.reasons[key])
	}
	s.found.Schema = schemaOf(s.found.CodeFiles > 0, s.found.TextFiles > 0)
}

func (s *survey) count() {
	languages, folders := map[string]Language{}, map[string]int{}
	for _, f := range s.found.Chosen {
		if f.Kind == Code {
			s.found.CodeFiles++
		} else {
			s.found.TextFiles++
		}
		l := languages[f.Language]
		languages[f.Language] = Language{Name: f.Language, Kind: f.Kind, Files: l.Files + 1, Lines: l.Lines + f.Lines}
		folders[path.Dir(f.Path)]++
	}
	s.found.Languages = slices.SortedFunc(maps.Values(languages), func(a, b Language) int {
		return cmp.Or(cmp.Compare(b.Lines, a.Lines), cmp.Compare(a.Name, b.Name))
	})
	s.found.Folders = []Folder{}
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		s.found.Folders = append(s.found.Folders, Folder{Path: name, Files: folders[name]})
	}
	slices.SortStableFunc(s.found.Folders, func(a, b Folder) int { return cmp.Compare(b.Files, a.Files) })
	s.found.Folders = s.found.Folders[:min(20, len(s.found.Folders))]
}

// ReadFile reads a file, at most limit bytes of it.
func ReadFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// IsBinary reports whether bytes are not text: they contain a zero, or their beginning is not UTF-8.
func IsBinary(raw []byte) bool {
	head := raw[:min(len(raw), 8<<10)]
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	bad := 0
	for len(head) > 0 {
		r, size := utf8.DecodeRune(head)
		if r == utf8.RuneError && size == 1 {
			bad++
		}
		head = head[size:]
	}
	return bad > 64
}

func isGenerated(raw []byte) bool {
	head := raw[:min(len(raw), 2<<10)]
	return bytes.Contains(head, []byte("DO NOT EDIT")) || bytes.Contains(head, []byte("@generated"))
}
