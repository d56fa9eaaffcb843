package lint

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// signposts is the document that says where each thing is.
const signposts = "ARCHITECTURE.md"

// placed matches a path of this repository in backquotes; names in braces are alternatives.
var placed = regexp.MustCompile("`((?:pkg|services|cmd|examples|scripts|deploy|tools)(?:/[\\w.*{},-]+)*)`")

// Rooms finds packages that ARCHITECTURE.md does not mention, and paths in it that do not exist. A path may contain names
// in braces and end with a star, which stands for each folder there.
func Rooms(t *Tree) []Finding {
	rooms, files := map[string]bool{}, map[string]bool{}
	for _, file := range t.Text {
		files[file.Path] = true
		for dir := path.Dir(file.Path); dir != "."; dir = path.Dir(dir) {
			files[dir] = true
		}
	}
	for _, file := range t.Go {
		if !file.Test {
			rooms[path.Dir(file.Path)] = true
		}
	}
	var found []Finding
	named := map[string]bool{}
	for _, file := range t.Text {
		if file.Path != signposts {
			continue
		}
		for n, line := range strings.Split(string(file.Source), "\n") {
			for _, match := range placed.FindAllStringSubmatch(line, -1) {
				for _, place := range expand(match[1]) {
					named[place] = true
					if !files[strings.TrimSuffix(place, "/*")] {
						found = append(found, Finding{file.Path, n + 1, place + " does not exist"})
					}
				}
			}
		}
	}
	for room := range rooms { // any order: findings are sorted.
		if !named[room] && !named[path.Dir(room)+"/*"] {
			found = append(found, Finding{signposts, 0, room + " has no row"})
		}
	}
	return sorted(found)
}

// expand returns the paths that a path with names in braces stands for.
func expand(place string) []string {
	before, rest, open := strings.Cut(place, "{")
	names, after, closed := strings.Cut(rest, "}")
	if !open || !closed {
		return []string{place}
	}
	var list []string
	for name := range strings.SplitSeq(names, ",") {
		list = slices.Concat(list, expand(before+name+after))
	}
	return list
}
