package extract

import (
	"path"
	"regexp"
	"strings"

	"github.com/jobgraph/jobgraph/examples/internal/graph"
	"github.com/jobgraph/jobgraph/examples/internal/scan"
)

// pattern matches the lines of a language that define (group: name) and import (group: what).
type pattern struct{ define, use *regexp.Regexp }

// patterns returns the patterns of all languages that are read by their lines.
func patterns() map[string]pattern {
	script := pattern{
		regexp.MustCompile(`^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function\*?|class|interface|enum)\s+([A-Za-z_$][\w$]*)`),
		regexp.MustCompile(`(?:^\s*import\b.*?|^\s*export\b.*\bfrom\s*|\brequire\()\s*["']([^"']+)["']`),
	}
	native := pattern{
		regexp.MustCompile(`^(?:class|struct|enum|union|namespace)\s+([A-Za-z_]\w*)|^[A-Za-z_][\w\s*&:<>,]*?[\s*&]([A-Za-z_][\w:]*)\s*\([^;]*$`),
		regexp.MustCompile(`^\s*#\s*include\s*[<"]([^>"]+)[>"]`),
	}
	return map[string]pattern{
		"Python": {
			regexp.MustCompile(`^\s*(?:async\s+)?(?:def|class)\s+([A-Za-z_]\w*)`),
			regexp.MustCompile(`^\s*(?:from\s+([\w.]+)\s+import|import\s+([\w.]+))`),
		},
		"JavaScript": script,
		"TypeScript": script,
		"Rust": {
			regexp.MustCompile(`^\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+|unsafe\s+|const\s+)*(?:fn|struct|enum|trait|type)\s+([A-Za-z_]\w*)`),
			regexp.MustCompile(`^\s*(?:pub\s+)?use\s+([\w:]+)`),
		},
		"Java": {
			regexp.MustCompile(`^\s*(?:(?:public|protected|private|abstract|final|static|sealed)\s+)*(?:class|interface|enum|record)\s+([A-Za-z_]\w*)`),
			regexp.MustCompile(`^\s*import\s+(?:static\s+)?([\w.]+)`),
		},
		"C":   native,
		"C++": native,
		"Shell": {
			regexp.MustCompile(`^\s*(?:function\s+)?([A-Za-z_]\w*)\s*\(\)`),
			regexp.MustCompile(`^\s*(?:source|\.)\s+["']?([\w./-]+)`),
		},
	}
}

// source reads files of languages that have no parser here.
type source struct {
	r        *reader
	patterns map[string]pattern
	called   *regexp.Regexp
	defined  map[string][]string // ids by name
	files    []sourceFile
}

type sourceFile struct {
	id    string
	path  string
	calls map[string]int
	uses  []string
}

func newSource(r *reader) *source {
	return &source{
		r: r, patterns: patterns(), defined: map[string][]string{},
		called: regexp.MustCompile(`([A-Za-z_]\w{2,})\s*\(`),
	}
}

func (s *source) add(f scan.File, raw []byte) {
	p, ok := s.patterns[f.Language]
	if !ok {
		return
	}
	file := sourceFile{id: "module:" + f.Path, path: f.Path, calls: map[string]int{}}
	s.r.build.Add(graph.Entity{ID: file.id, Kind: "module", Name: path.Base(f.Path), File: f.Path})
	number := 0
	for line := range strings.Lines(string(raw)) {
		number++
		if name := group(p.define, line); name != "" {
			id := "definition:" + f.Path + "#" + name
			s.r.build.Add(graph.Entity{ID: id, Kind: "definition", Name: name, File: f.Path, Line: number})
			s.r.build.Relate(file.id, id, "declares", 1)
			s.defined[name] = append(s.defined[name], id)
			continue
		}
		if used := group(p.use, line); used != "" {
			file.uses = append(file.uses, used)
			continue
		}
		for _, m := range s.called.FindAllStringSubmatch(line, -1) {
			file.calls[m[1]]++
		}
	}
	s.files = append(s.files, file)
}

// group returns the first group of the pattern that matched.
func group(p *regexp.Regexp, line string) string {
	for i, text := range p.FindStringSubmatch(line) {
		if i > 0 && text != "" {
			return text
		}
	}
	return ""
}

// finish relates files to the definitions they call, when a name means one thing only, and to what they import.
func (s *source) finish() {
	for _, f := range s.files {
		for name, count := range f.calls {
			if ids := s.defined[name]; len(ids) == 1 && !strings.HasPrefix(ids[0], "definition:"+f.path+"#") {
				s.r.build.Relate(f.id, ids[0], "calls", count)
			}
		}
		for _, used := range f.uses {
			s.r.build.Relate(f.id, s.imported(f, used), "imports", 1)
		}
	}
}

// imported returns the module of this tree that an import means, or else a library, which it adds.
func (s *source) imported(f sourceFile, used string) string {
	ext := path.Ext(f.path)
	slashed := strings.ReplaceAll(strings.ReplaceAll(used, "::", "/"), "\\", "/")
	if !strings.HasPrefix(used, ".") && ext != ".h" && ext != ".c" {
		slashed = strings.ReplaceAll(slashed, ".", "/")
	}
	dir := path.Dir(f.path)
	for _, guess := range []string{
		path.Join(dir, used), path.Join(dir, used) + ext, path.Join(dir, slashed) + ext,
		path.Join(dir, used, "index"+ext), slashed + ext, path.Join("src", slashed) + ext,
		path.Join(slashed, "__init__.py"), used, path.Join("include", used),
	} {
		if s.r.build.Has("module:" + guess) {
			return "module:" + guess
		}
	}
	id := "library:" + used
	s.r.build.Add(graph.Entity{ID: id, Kind: "library", Name: used})
	return id
}
