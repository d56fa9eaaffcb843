package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// guides are the documents that lead readers into the source.
var guides = []string{signposts, "CONTRIBUTING.md", "docs/tour.md", "docs/debug.md"}

// maxGlossary limits the words that a newcomer has to learn before reading the source.
const maxGlossary = 30

var (
	quoted = regexp.MustCompile("`([^`\n]+)`")
	// sourceFile is a file name in backquotes, with or without its folder, and maybe with a line.
	sourceFile = regexp.MustCompile(`^([\w.{},~-]+/)*[\w.~-]+\.(go|md|sh|json|tmpl|ya?ml)$`)
	// symbol matches a declared name, optionally after its type or package.
	symbol = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)?$`)
	// follows matches what separates a file from the names in it.
	follows = regexp.MustCompile(`^(,|,? and)\s+$`)
	// stackFrame matches a source position as debuggers print it.
	stackFrame = regexp.MustCompile(`\./([\w./-]+\.go):\d+`)
	link       = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
)

// References finds things that the guides mention and the repository does not have: files, functions and types named after
// their file ("`path/file.go`, `Type.Method`"), names with a dot (`Type.Method`, `package.Func`), files in a debugger's
// stack frames, and targets of links. A file name without a folder means a folder that the same section mentions before it.
func References(t *Tree) []Finding {
	known := index(t)
	var found []Finding
	for _, guide := range guides {
		i := slices.IndexFunc(t.Text, func(f *TextFile) bool { return f.Path == guide })
		if i < 0 {
			found = append(found, Finding{guide, 0, "is missing"})
			continue
		}
		found = append(found, known.check(t.Text[i])...)
	}
	return sorted(found)
}

// names holds the files, folders and declarations of a tree.
type names struct {
	places map[string]bool            // The existing files and folders.
	in     map[string]map[string]bool // The names that each file declares.
	all    map[string]bool            // The names Type.Method and package.Name that any file declares.
}

func index(t *Tree) *names {
	n := &names{places: map[string]bool{}, in: map[string]map[string]bool{}, all: map[string]bool{}}
	for _, file := range t.Text {
		n.places[file.Path] = true
		for dir := file.Dir(); dir != "."; dir = path.Dir(dir) {
			n.places[dir] = true
		}
	}
	for _, file := range t.Go {
		declared := map[string]bool{}
		for _, decl := range file.AST.Decls {
			for _, name := range declaredBy(decl) {
				declared[name] = true
				if strings.Contains(name, ".") {
					n.all[name] = true
				} else {
					n.all[file.AST.Name.Name+"."+name] = true
				}
			}
		}
		n.in[file.Path] = declared
	}
	return n
}

// declaredBy lists the names that a declaration declares, a method as Type.Method.
func declaredBy(decl ast.Decl) (list []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && len(d.Recv.List) > 0 {
			return []string{receiver(d.Recv.List[0].Type) + "." + d.Name.Name}
		}
		return []string{d.Name.Name}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			return nil
		}
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				list = append(list, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					list = append(list, name.Name)
				}
			}
		}
	}
	return list
}

// check reads one guide.
func (n *names) check(guide *TextFile) []Finding {
	text := string(guide.Source)
	var found []Finding
	report := func(at int, format string, args ...any) {
		found = append(found, Finding{guide.Path, 1 + strings.Count(text[:at], "\n"), fmt.Sprintf(format, args...)})
	}
	var folders []string // The folders that the section has mentioned.
	file, end, section := "", 0, 0
	for _, m := range quoted.FindAllStringSubmatchIndex(text, -1) {
		word, between := text[m[2]:m[3]], text[end:m[0]]
		end = m[1]
		if at := strings.LastIndex(text[:m[0]], "\n## "); at != section {
			section, folders, file = at, nil, ""
		}
		switch {
		case sourceFile.MatchString(word):
			if file = n.find(word, folders); file == "" {
				report(m[0], "%s: no such file here, nor in a folder that this section has named", word)
				continue
			}
			folders = append(folders, path.Dir(file))
		case strings.HasSuffix(file, ".go") && follows.MatchString(between) && symbol.MatchString(word):
			if !n.in[file][word] {
				report(m[0], "%s does not declare %s", file, word)
			}
		default:
			file = ""
			if n.places[word] {
				folders = append(folders, word)
			}
			if symbol.MatchString(word) && strings.Contains(word, ".") && word != strings.ToLower(word) && !n.all[word] {
				report(m[0], "%s is declared nowhere", word)
			}
		}
	}
	for _, m := range stackFrame.FindAllStringSubmatchIndex(text, -1) {
		if frame := text[m[2]:m[3]]; !n.places[frame] {
			report(m[0], "%s: no such file", frame)
		}
	}
	for _, m := range link.FindAllStringSubmatchIndex(text, -1) {
		if to := path.Join(path.Dir(guide.Path), text[m[2]:m[3]]); !n.places[to] {
			report(m[0], "%s: no such file", to)
		}
	}
	return found
}

// find returns the path of a file that a guide mentions, or "".
func (n *names) find(word string, folders []string) string {
	if n.places[word] {
		return word
	}
	if strings.Contains(word, "/") {
		return ""
	}
	for _, folder := range slices.Backward(folders) {
		if place := path.Join(folder, word); n.places[place] {
			return place
		}
	}
	return ""
}

// Glossary finds a glossary that is missing or too long for a newcomer to learn.
func Glossary(t *Tree) []Finding {
	for _, file := range t.Text {
		if file.Path != signposts {
			continue
		}
		_, text, there := strings.Cut(string(file.Source), "\n## Glossary\n")
		if !there {
			return []Finding{{signposts, 0, "has no section Glossary"}}
		}
		text, _, _ = strings.Cut(text, "\n## ")
		rows := strings.Count("\n"+text, "\n|") - 2 // Without the header and the line below it.
		if rows < 1 || rows > maxGlossary {
			return []Finding{{signposts, 0, fmt.Sprintf("the glossary has %d words, it should have 1 to %d", rows, maxGlossary)}}
		}
	}
	return nil
}
