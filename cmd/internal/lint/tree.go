package lint

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Tree is the repository as the rules see it.
type Tree struct {
	// Fset places every node of every parsed file.
	Fset *token.FileSet
	// Go are the Go files outside testdata, sorted by path.
	Go []*GoFile
	// Text are all text files, the Go files included, sorted by path.
	Text []*TextFile
}

// GoFile is one parsed Go source file.
type GoFile struct {
	TextFile
	// AST is the parsed file with its comments.
	AST *ast.File
	// Test is true for a _test.go file.
	Test bool
	// Generated is true when the file says so in the standard way.
	Generated bool
}

// TextFile is one file that is not binary.
type TextFile struct {
	// Path is relative to the root, with forward slashes.
	Path string
	// Source is the content of the file.
	Source []byte
}

// Dir returns the folder of the file, relative to the root.
func (f *TextFile) Dir() string { return path.Dir(f.Path) }

// Lines returns the number of lines of the file.
func (f *TextFile) Lines() int {
	n := bytes.Count(f.Source, []byte("\n"))
	if len(f.Source) > 0 && f.Source[len(f.Source)-1] != '\n' {
		n++
	}
	return n
}

// maxText limits the size of files that are read as text; nothing written by hand is larger.
const maxText = 4 << 20

// Load reads the repository without what tools build or store: hidden folders except .ci, and bin and out. A Go file that
// does not parse is an error with its position.
func Load(root fs.FS) (*Tree, error) {
	tree := &Tree{Fset: token.NewFileSet()}
	var faults []error
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("walk %s: %w", name, err)
		}
		if entry.IsDir() {
			if leftOut(name) {
				return fs.SkipDir
			}
			return nil
		}
		if name == ".git" {
			return nil // A linked work tree: the file contains the path of its repository.
		}
		if err := tree.add(root, name, entry); err != nil {
			faults = append(faults, err)
		}
		return nil
	})
	return tree, errors.Join(append(faults, err)...)
}

func leftOut(dir string) bool {
	base := path.Base(dir)
	if dir == "." || base == ".ci" {
		return false
	}
	return strings.HasPrefix(base, ".") || base == "bin" || base == "out" || base == "__pycache__"
}

func (t *Tree) add(root fs.FS, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxText {
		return err
	}
	source, err := fs.ReadFile(root, name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if bytes.IndexByte(source, 0) >= 0 {
		return nil
	}
	text := TextFile{Path: name, Source: source}
	t.Text = append(t.Text, &text)
	if !strings.HasSuffix(name, ".go") || slices.Contains(strings.Split(name, "/"), "testdata") {
		return nil
	}
	file, err := parser.ParseFile(t.Fset, name, source, parser.ParseComments)
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	t.Go = append(t.Go, &GoFile{
		TextFile:  text,
		AST:       file,
		Test:      strings.HasSuffix(name, "_test.go"),
		Generated: ast.IsGenerated(file),
	})
	return nil
}

// find makes a finding at a node of a parsed file.
func (t *Tree) find(at token.Pos, format string, args ...any) Finding {
	place := t.Fset.Position(at)
	return Finding{Path: place.Filename, Line: place.Line, Text: fmt.Sprintf(format, args...)}
}

// span returns the number of lines a node covers.
func (t *Tree) span(node ast.Node) int {
	return t.Fset.Position(node.End()).Line - t.Fset.Position(node.Pos()).Line + 1
}

// under reports whether a file or folder lies in dir.
func under(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, dir+"/")
}
