package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// gatherer finds the files that match patterns.
type gatherer struct {
	root     *os.Root
	patterns [][]string
	left     int // Entries that may still be visited.
	names    []string
}

// gather lists the files of a workspace that match patterns, sorted, visiting at most most entries. It never leaves the
// workspace and follows no link: a link or special file that matches is an error. Errors are *events.Fault.
func gather(root *os.Root, patterns []string, most int) ([]string, error) {
	g := &gatherer{root: root, left: most}
	for _, p := range patterns {
		g.patterns = append(g.patterns, strings.Split(p, "/"))
	}
	if err := g.walk(".", 0); err != nil {
		return nil, err
	}
	slices.Sort(g.names)
	taken := map[string]string{}
	for _, name := range g.names {
		if other, twice := taken[called(name)]; twice {
			return nil, refused(events.CodeDuplicateID, name, fmt.Sprintf("and %.300q have the same name for others", other), "rename one of them")
		}
		taken[called(name)] = name
	}
	return g.names, nil
}

// walk visits a folder in batches, since it may have any size.
func (g *gatherer) walk(dir string, deep int) error {
	folder, err := g.root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return refused(events.CodeInvalid, dir, "cannot be looked through: "+reason(err), "make it readable")
	}
	defer func() { _ = folder.Close() }() // It was only read.
	for {
		entries, err := folder.ReadDir(256)
		for _, entry := range entries {
			if err := g.entry(path.Join(dir, entry.Name()), entry.Type(), deep); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return refused(events.CodeInvalid, dir, "cannot be looked through: "+reason(err), "make it readable")
		}
	}
}

func (g *gatherer) entry(name string, kind fs.FileMode, deep int) error {
	if g.left--; g.left < 0 {
		return &events.Fault{
			Code: events.CodeTooLarge, Field: field, Message: "there are too many files to look for artifacts among them",
			Hint: "say under artifacts on the card in which folder they are",
		}
	}
	parts := strings.Split(name, "/")
	if slices.Contains([]string{TempDir, ArtifactsDir, AttachmentsDir, "results"}, parts[0]) {
		return nil // Not made by the run, or temporary.
	}
	named := g.named(parts, false)
	switch {
	case kind.IsDir() && deep == maxDeep && g.named(parts, true):
		return refused(events.CodeTooLarge, name, fmt.Sprintf("lies more than %d folders deep", maxDeep), "use fewer folders")
	case kind.IsDir() && g.named(parts, true):
		return g.walk(name, deep+1)
	case kind.IsDir() || !named:
		return nil
	case kind&fs.ModeSymlink != 0:
		return refused(events.CodeInvalid, name, "is a symbolic link", "copy what it points to")
	case !kind.IsRegular():
		return refused(events.CodeInvalid, name, "is no file but "+kind.String(), "leave files alone, without links, pipes and devices")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || len(name) > maxName:
		return refused(events.CodeInvalid, name, "has a name that cannot be passed on", fmt.Sprintf("use at most %d bytes of UTF-8, without control characters", maxName))
	case len(g.names) == MaxArtifacts:
		return &events.Fault{
			Code: events.CodeTooLarge, Field: field, Message: fmt.Sprintf("more than %d artifacts", MaxArtifacts),
			Hint: "put them into an archive, or say under artifacts on the card which are meant",
		}
	}
	g.names = append(g.names, name)
	return nil
}

// named reports whether a pattern matches a file, or may match something inside a folder.
func (g *gatherer) named(parts []string, folder bool) bool {
	return slices.ContainsFunc(g.patterns, func(p []string) bool { return matches(p, parts, folder) })
}

// matches compares a path with a pattern part by part; ** matches any number of folders, or everything below one.
func matches(pattern, parts []string, folder bool) bool {
	switch {
	case len(parts) == 0:
		return folder || len(pattern) == 0 || len(pattern) == 1 && pattern[0] == anyDepth
	case len(pattern) == 0:
		return false
	case pattern[0] == anyDepth && len(pattern) == 1:
		return true
	case pattern[0] == anyDepth:
		return matches(pattern[1:], parts, folder) || matches(pattern, parts[1:], folder)
	}
	fits, err := path.Match(pattern[0], parts[0])
	return err == nil && fits && matches(pattern[1:], parts[1:], folder)
}

// anyDepth is the part of a pattern that matches any number of folders.
const anyDepth = "**"

// maxPatterns limits the patterns of a card.
const maxPatterns = 16

// PatternFaults returns the faults of a card's patterns.
func PatternFaults(patterns []string) (faults events.Faults) {
	fault := func(message, hint string) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: field, Message: message, Hint: hint})
	}
	if len(patterns) > maxPatterns {
		fault(fmt.Sprintf("at most %d patterns are taken", maxPatterns), "put the files into one folder")
	}
	for _, p := range patterns {
		parts := strings.Split(p, "/")
		depths := 0
		for _, part := range parts {
			if part == anyDepth {
				depths++
			}
		}
		_, bad := path.Match(p, "")
		switch {
		case bad != nil:
			fault(fmt.Sprintf("%.80q is no pattern", p), "* and ? stand for letters of one name, ** for folders")
		case p != path.Clean(p) || path.IsAbs(p) || parts[0] == ".." || p == ".":
			fault(fmt.Sprintf("%.80q is no path inside of a workspace", p), "write it relative to the workspace: report.md, tables/*.csv, out/**")
		case depths > 1:
			fault(fmt.Sprintf("%.80q has more than one **", p), "one is enough: ** stands for any number of folders")
		}
	}
	return faults
}
