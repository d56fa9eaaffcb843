package tool

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Find is the name of the tool that finds files by their names and contents.
const Find = "find"

// Limits of the tool.
const (
	// maxFound limits the files or lines that one call returns.
	maxFound = 200
	// maxVisited limits the entries of the workspace that one call visits; maxSearched is the largest file that it searches, in
	// bytes.
	maxVisited  = 50_000
	maxSearched = 4 << 20
	// maxLine is how much of a line is shown, in bytes.
	maxLine = 300
)

func (f *Files) findTool() Tool {
	return Tool{
		Name: Find, Local: true, Call: f.find,
		Description: "Finds files of the workspace: by name, a pattern such as **/*.go, and by text, a regular expression that a line matches. " +
			"Gives the files, or the lines with their numbers.",
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"text":{"type":"string"},` +
			`"path":{"type":"string","description":"the folder to look in, the workspace itself when left out"},"ignore_case":{"type":"boolean"}}}`),
	}
}

// finder is the state of one call.
type finder struct {
	files   *Files
	name    []string // The pattern of names in parts; empty for any.
	text    *regexp.Regexp
	visited int
	found   []string
	full    bool
}

func (f *Files) find(ctx context.Context, c Call) (string, error) {
	var a struct {
		Name, Text, Path string
		IgnoreCase       bool `json:"ignore_case"`
	}
	if err := decode(c.Args, &a); err != nil {
		return "", err
	}
	if a.Name == "" && a.Text == "" {
		return "", errors.New("bad arguments: name or text is needed")
	}
	s := &finder{files: f}
	if a.Name != "" {
		if _, err := path.Match(a.Name, ""); err != nil {
			return "", fmt.Errorf("%q is no pattern: * and ? stand for letters of one name, ** for folders", a.Name)
		}
		if !strings.Contains(a.Name, "/") {
			a.Name = "**/" + a.Name
		}
		s.name = strings.Split(strings.TrimPrefix(a.Name, "/"), "/")
	}
	if a.Text != "" {
		pattern := a.Text
		if a.IgnoreCase {
			pattern = "(?i)" + pattern
		}
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return "", fmt.Errorf("text is no regular expression: %w", err)
		}
		s.text = compiled
	}
	root := inside(a.Path)
	err := fs.WalkDir(f.root.FS(), root, func(name string, d fs.DirEntry, err error) error { return s.visit(ctx, root, name, d, err) })
	if err != nil {
		return "", plain(err, a.Path)
	}
	switch {
	case len(s.found) == 0:
		return "(nothing found)", nil
	case s.full:
		s.found = append(s.found, fmt.Sprintf("[the first %d; narrow it down]", len(s.found)))
	}
	return strings.Join(s.found, "\n"), nil
}

func (s *finder) visit(ctx context.Context, root, name string, d fs.DirEntry, err error) error {
	switch s.visited++; {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && name == root:
		return err
	case err != nil:
		return nil // An unreadable folder is skipped.
	case d.IsDir() && (d.Name() == ".tmp" || d.Name() == ".git"):
		return fs.SkipDir
	case s.visited > maxVisited || len(s.found) >= maxFound:
		s.full = true
		return fs.SkipAll
	case !d.Type().IsRegular() || len(s.name) > 0 && !fits(s.name, strings.Split(name, "/")):
		return nil
	case s.text == nil:
		s.found = append(s.found, name)
		return nil
	}
	s.lines(name)
	return nil
}

// lines searches one file. It skips files that are too large or not text.
func (s *finder) lines(name string) {
	info, err := s.files.root.Stat(name)
	if err != nil || info.Size() > maxSearched {
		return
	}
	data, err := s.files.root.ReadFile(name)
	if err != nil || bytes.IndexByte(data, 0) >= 0 {
		return
	}
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, maxSearched+1)
	for n := 1; scan.Scan() && len(s.found) < maxFound; n++ {
		if !s.text.Match(scan.Bytes()) {
			continue
		}
		line := scan.Text()
		if len(line) > maxLine {
			line = whole([]byte(line[:maxLine])) + "…"
		}
		if !utf8.ValidString(line) {
			line = strings.ToValidUTF8(line, "\uFFFD")
		}
		s.found = append(s.found, fmt.Sprintf("%s:%d: %s", name, n, line))
	}
}

// fits compares a path with a pattern part by part; ** matches any number of folders.
func fits(pattern, parts []string) bool {
	switch {
	case len(pattern) == 0 || len(parts) == 0:
		return len(pattern) == 0 && len(parts) == 0
	case pattern[0] == "**":
		return fits(pattern[1:], parts) || fits(pattern, parts[1:]) || len(pattern) == 1
	}
	matches, err := path.Match(pattern[0], parts[0])
	return err == nil && matches && fits(pattern[1:], parts[1:])
}
