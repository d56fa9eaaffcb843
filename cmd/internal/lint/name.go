package lint

import (
	"path"
	"slices"
	"strings"
)

// vagueNames say nothing about a package's content, for which there is always a better place.
var vagueNames = []string{
	"base", "common", "helper", "helpers", "misc", "model", "models", "shared", "type", "types", "util", "utils",
}

// Packages finds packages with a vague name, and packages without a doc.go that begins with a package comment. A folder
// with only tests needs none.
func Packages(t *Tree) []Finding {
	documented, first := map[string]bool{}, map[string]*GoFile{}
	for _, file := range t.Go {
		if file.Test {
			continue
		}
		if first[file.Dir()] == nil {
			first[file.Dir()] = file
		}
		if path.Base(file.Path) == "doc.go" && file.AST.Doc != nil {
			documented[file.Dir()] = true
		}
	}
	var found []Finding
	for dir, file := range first {
		name := strings.TrimSuffix(file.AST.Name.Name, "_test")
		if slices.Contains(vagueNames, name) || slices.Contains(vagueNames, path.Base(dir)) {
			found = append(found, Finding{file.Path, 1, "package name " + name + " says nothing: name it for its noun"})
		}
		if !documented[dir] {
			found = append(found, Finding{dir, 0, "no doc.go with a package comment: say what it is for, what it never does, who owns its state"})
		}
	}
	return sorted(found)
}
