package extract

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/examples/internal/graph"
	"github.com/jobgraph/jobgraph/examples/internal/scan"
)

// imports relates a package to what it imports and records the local names of these imports.
func (g *golang) imports(f *goFile) {
	f.imports = map[string]string{}
	for _, spec := range f.syntax.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil || target == "" {
			continue
		}
		id := g.importID(target)
		name := path.Base(target)
		if i, err := strconv.Atoi(strings.TrimPrefix(name, "v")); err == nil && i > 1 {
			name = path.Base(path.Dir(target))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		f.imports[name] = id
		g.r.build.Relate(packageID(f.dir), id, "imports", 1)
	}
}

// importID returns the package of this tree that the path means, or else a library, which it adds.
func (g *golang) importID(target string) string {
	for _, base := range slices.Sorted(maps.Keys(g.modules)) {
		module := g.modules[base]
		if module == "" || (target != module && !strings.HasPrefix(target, module+"/")) {
			continue
		}
		id := packageID(path.Join(base, strings.TrimPrefix(strings.TrimPrefix(target, module), "/")))
		if g.r.build.Has(id) {
			return id
		}
	}
	id := "library:" + target
	g.r.build.Add(graph.Entity{ID: id, Kind: "library", Name: target})
	return id
}

// findModule records the module paths of a folder and of those above it, up to the nearest go.mod.
func (g *golang) findModule(dir string) {
	for {
		module, known := g.modules[dir]
		if !known {
			module = g.readModule(path.Join(dir, "go.mod"))
			g.modules[dir] = module
		}
		if module != "" || dir == "." {
			return
		}
		dir = path.Dir(dir)
	}
}

func (g *golang) readModule(name string) string {
	info, err := fs.Stat(g.r.fsys, name)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	raw, err := scan.ReadFile(g.r.fsys, name, 64<<10)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "module" {
			return strings.Trim(fields[1], `"`)
		}
	}
	return ""
}
