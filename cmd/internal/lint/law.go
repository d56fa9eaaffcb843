package lint

import (
	"fmt"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// Base is the module path in front of every package of the repository.
const Base = "github.com/jobgraph/jobgraph/"

// Package is one package of the workspace with what it imports, as `go list -json` prints it.
type Package struct {
	// ImportPath is the path of the package.
	ImportPath string
	// Name is the name in its package clause.
	Name string
	// Deps are all packages that it is linked with, except those of tests.
	Deps []string
	// TestImports and XTestImports are those of its test files.
	TestImports, XTestImports []string
}

// dir returns the folder of a package of the repository, or "" for any other.
func dir(importPath string) string {
	name, ok := strings.CutPrefix(importPath, Base)
	if !ok {
		return ""
	}
	return name
}

// isStd reports whether an import path belongs to the standard library: its first element has no dot.
func isStd(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// isTestSupport reports whether a package exists for tests, named like httptest. The scripted model does not count:
// programs serve it as `--model fake`. This package and the command that counts with it are not part of a program either.
func isTestSupport(dir string) bool {
	return dir != "" && dir != "pkg/llm/llmtest" && (strings.HasSuffix(dir, "test") || dir == "cmd/internal/lint" || dir == "cmd/internal/measure")
}

// room is one row of the import law: which packages of the repository a package may import.
type room struct {
	// dir is the folder the row is about; the first row that holds a package decides.
	dir string
	// may lists the folders it may import; its own folder is always allowed.
	may []string
	// sdk lists what it may import from outside, by prefix; nil means that the outside is free.
	sdk []string
	// std is true when it may import nothing from outside at all.
	std bool
}

// law is the import law of ARCHITECTURE.md as a table: arrows point down only.
var law = []room{
	{dir: "pkg/events", std: true},
	{dir: "pkg/graph", may: []string{"pkg/events"}, std: true},
	{dir: "pkg/recur", may: []string{"pkg/events"}, std: true},
	{dir: "pkg/run/lease", may: []string{"pkg/events", "pkg/run"}, std: true},
	{dir: "pkg/run", may: []string{"pkg/events"}, std: true},
	{dir: "pkg/joblog", may: []string{"pkg/events", "pkg/graph", "pkg/run"}, std: true},
	{dir: "pkg/redact", std: true},
	{dir: "pkg/egress", std: true},
	{dir: "pkg/verb/asker", may: []string{"pkg/events", "pkg/verb", "pkg/seal"}, std: true},
	{dir: "pkg/verb", may: []string{"pkg/events"}, std: true},
	{dir: "pkg/seal", may: []string{"pkg/events"}, sdk: []string{"github.com/nats-io/nkeys"}},
	{dir: "pkg/access", may: []string{"pkg/events", "pkg/verb", "pkg/seal"}, std: true},
	{dir: "pkg/drawing", may: []string{"pkg/events"}, sdk: []string{"github.com/rivo/uniseg"}},
	{dir: "pkg/canvas", may: []string{"pkg/events", "pkg/verb", "pkg/graph", "pkg/run", "pkg/joblog", "pkg/drawing"}},
	{dir: "pkg/schema", sdk: []string{"github.com/santhosh-tekuri/jsonschema/", "golang.org/x/text/"}},
	{dir: "pkg/template"},
	{dir: "pkg/musttest", sdk: []string{"github.com/google/go-cmp/"}},
	{dir: "pkg/goldentest", sdk: []string{"github.com/google/go-cmp/"}},
	{dir: "pkg/bus", may: []string{"pkg/events", "pkg/run", "pkg/seal", "pkg/musttest"}, sdk: []string{"github.com/nats-io/", "github.com/google/uuid"}},
	{dir: "pkg/knowledge", may: []string{"pkg/events"}, sdk: []string{"golang.org/x/text/"}},
	{dir: "pkg/memory", may: []string{"pkg/events"}, std: true},
	{dir: "pkg/service/queue", std: true},
	{dir: "pkg/service/servicetest", may: []string{"pkg"}},
	{dir: "pkg/service", may: []string{"pkg/events", "pkg/run", "pkg/redact", "pkg/bus", "pkg/host"}, sdk: []string{"github.com/google/uuid"}},
	{dir: "pkg/host/onbus", may: []string{"pkg/host", "pkg/bus"}},
	{dir: "pkg/host", may: []string{"pkg/events", "pkg/redact"}},
	{dir: "pkg/llm/lenient", std: true},
	{dir: "pkg/llm", may: []string{"pkg/events", "pkg/redact"}, sdk: []string{"github.com/sashabaranov/go-openai", "golang.org/x/time/", "go.yaml.in/yaml/"}},
	{dir: "pkg/client", may: []string{"pkg/events", "pkg/verb", "pkg/run", "pkg/joblog", "pkg/canvas", "pkg/bus", "pkg/knowledge", "pkg/memory"}},
	{dir: "pkg/jobtest", may: []string{"pkg", "services/planner/app", "services/scheduler/app", "services/expert-runner/app"}},
	{dir: "services/planner/internal/finish", may: []string{"pkg/events"}, std: true},
	{dir: "services/planner/internal/plan", may: []string{"pkg/events", "pkg/graph", "pkg/joblog"}, std: true},
	{dir: "services/planner/internal/planning", may: []string{"pkg/events", "pkg/graph"}, std: true},
	{dir: "services/expert-runner/internal/policy", may: []string{"pkg/events"}, std: true},
	{dir: "services/expert-runner/internal/recommend", may: []string{"pkg/events"}, std: true},
	{dir: "services/expert-runner/internal/task", may: []string{"pkg/events", "pkg/run", "pkg/graph"}, std: true},
	{dir: "services/expert-runner/internal/conversation", may: []string{"pkg/events"}, std: true},
	{dir: "services/planner/internal/loop", may: []string{"pkg/events", "pkg/run", "pkg/graph", "pkg/service/queue", "pkg/knowledge"}},
	{dir: "services/planner/internal", may: []string{"pkg/events", "pkg/verb", "pkg/run", "pkg/graph", "pkg/joblog", "pkg/bus", "pkg/service", "pkg/llm", "pkg/redact", "pkg/knowledge", "pkg/template"}},
	{dir: "services/scheduler/internal/fair", std: true},
	{dir: "services/scheduler/internal/loop", may: []string{"pkg/events", "pkg/run", "pkg/graph", "pkg/joblog"}},
	{dir: "services/scheduler/internal", may: []string{"pkg/events", "pkg/verb", "pkg/run", "pkg/graph", "pkg/joblog", "pkg/recur", "pkg/bus", "pkg/seal", "pkg/llm", "pkg/schema"}},
	{dir: "services/expert-runner/internal/loop", may: []string{"pkg/events", "pkg/run", "pkg/graph", "pkg/service/queue", "pkg/redact", "pkg/knowledge", "pkg/memory"}},
	{dir: "services/expert-runner/internal/expert/a2a/legacy", sdk: []string{"github.com/a2aproject/a2a-go/", "github.com/google/uuid"}},
	{dir: "services/expert-runner/internal", may: []string{"pkg/events", "pkg/egress", "pkg/run", "pkg/graph", "pkg/bus", "pkg/service", "pkg/llm", "pkg/redact", "pkg/schema", "pkg/knowledge", "pkg/memory"}},
	{dir: "services/gateway/internal/identity", may: []string{"pkg/events", "pkg/verb", "pkg/host"}, sdk: []string{"golang.org/x/time/"}},
	{dir: "services/gateway/internal/mcp", may: []string{"pkg/events", "pkg/verb", "pkg/schema", "services/gateway/internal/identity"}, sdk: []string{"github.com/modelcontextprotocol/"}},
	{dir: "services/gateway/internal/stream", may: []string{"pkg/events", "pkg/verb"}},
	{dir: "services/gateway/internal/render", may: []string{"pkg/events"}},
	{dir: "services/gateway/internal/history", may: []string{"pkg/events", "pkg/canvas"}},
	{dir: "services/gateway/internal/openai", may: []string{"pkg/events", "pkg/verb", "pkg/graph", "pkg/joblog"}, std: true},
	{dir: "services/gateway/internal/console", std: true},
	{dir: "services/gateway/internal/webhook", may: []string{"pkg/events", "pkg/verb", "pkg/bus", "pkg/egress", "pkg/host"}, sdk: []string{"github.com/standard-webhooks/"}},
	{dir: "services/gateway/internal", may: []string{"pkg/events", "pkg/verb", "pkg/drawing", "pkg/canvas", "pkg/joblog", "pkg/client", "pkg/bus", "pkg/host"}},
	{dir: "services", may: []string{"pkg"}},
	{dir: "cmd", may: []string{"pkg", "services"}},
	{dir: "tools"},
	{dir: "examples", std: true},
}

// sole names who alone may import an SDK, so that it can be replaced in one place.
var sole = []struct{ prefix, owners string }{
	{"github.com/nats-io/nats-server/", "cmd"},
	{"github.com/nats-io/nats.go", "pkg/bus cmd"},
	{"github.com/sashabaranov/go-openai", "pkg/llm"},
	{"github.com/modelcontextprotocol/", "services/expert-runner/internal/mcp services/gateway/internal/mcp tools/internal/serve"},
	{"github.com/chromedp/", "tools/internal/browser"},
	{"golang.org/x/net/websocket", "services/expert-runner/internal/mcp"},
	{"github.com/spf13/cobra", "cmd"},
	{"github.com/yuin/goldmark", "services/gateway/internal/render"},
	{"github.com/microcosm-cc/bluemonday", "services/gateway/internal/render"},
	{"github.com/aymanbagabas/go-udiff", "services/gateway/internal/render"},
	{"go.opentelemetry.io/", "pkg/host/trace"},
}

// impure are the standard packages, with all below them, that the pure core must not import.
var impure = []string{"context", "io", "log", "math/rand", "net", "os", "runtime", "sync", "syscall", "unsafe", "crypto/rand"}

// Layers finds imports that break the import law, in the files that are linked into programs.
func Layers(t *Tree) []Finding {
	var found []Finding
	t.eachImport(func(file *GoFile, at token.Pos, target string) {
		if why := refused(file.Dir(), target); why != "" {
			found = append(found, t.find(at, "imports %s: %s", target, why))
		}
	})
	return sorted(found)
}

func (t *Tree) eachImport(visit func(file *GoFile, at token.Pos, target string)) {
	for _, file := range t.Go {
		for _, spec := range file.AST.Imports {
			if target, err := strconv.Unquote(spec.Path.Value); err == nil && !file.Test {
				visit(file, spec.Pos(), target)
			}
		}
	}
}

// Links finds unwanted packages that are linked in, directly or through others: into the contract anything but the standard
// library, into a service more than a service needs, gRPC into anything.
func Links(packages []Package) []Finding {
	var found []Finding
	for _, p := range packages {
		found = append(found, contracted(p)...)
		found = append(found, linked(p)...)
		found = append(found, weighed(p)...)
	}
	return sorted(found)
}

// weighed checks that no package links gRPC into the programs that import it, whether they are of this repository or of
// others. Test support may link it.
func weighed(p Package) []Finding {
	const grpc = "google.golang.org/grpc"
	name := dir(p.ImportPath)
	if isTestSupport(name) || !slices.Contains(p.Deps, grpc) {
		return nil
	}
	return []Finding{{name, 0, "needs " + grpc + ": it adds 4 to 9 MB to a program; use a package without it"}}
}

// refused says why package name may not import target, "" if it may.
func refused(name, target string) string {
	row, ok := rowOf(name)
	switch inner := dir(target); {
	case !ok:
		return "no row of the import law holds this package: add one"
	case inner != "":
		return refusedInner(row, name, inner)
	case isStd(target):
		return refusedStd(name, target)
	case row.std:
		return row.dir + " uses the standard library only"
	case row.sdk != nil && !slices.ContainsFunc(row.sdk, func(sdk string) bool { return strings.HasPrefix(target, sdk) }):
		return row.dir + " has one SDK: " + strings.Join(row.sdk, ", ")
	}
	for _, rule := range sole {
		owned := slices.ContainsFunc(strings.Fields(rule.owners), func(owner string) bool { return under(name, owner) })
		if strings.HasPrefix(target, rule.prefix) && !owned && !isTestSupport(name) {
			return "only " + rule.owners + " may"
		}
	}
	return ""
}

func rowOf(name string) (room, bool) {
	for _, row := range law {
		if under(name, row.dir) {
			return row, true
		}
	}
	return room{}, false
}

func refusedInner(row room, name, inner string) string {
	if isTestSupport(inner) && !isTestSupport(name) {
		return "it exists for tests only"
	}
	own := row.dir
	if under(name, "services") {
		own = serviceOf(name)
		if under(inner, own) {
			return refusedUpwards(name, inner, own)
		}
	}
	if under(inner, own) || slices.ContainsFunc(row.may, func(may string) bool { return under(inner, may) }) {
		return ""
	}
	if strings.HasPrefix(inner, "services/") && strings.HasPrefix(name, "services/") {
		return "a service never imports another; it states facts on the bus"
	}
	return row.dir + " may import " + strings.Join(append([]string{"itself"}, row.may...), ", ")
}

// refusedUpwards enforces the order inside one service: main, app, internal; the core imports none of them.
func refusedUpwards(name, inner, service string) string {
	switch {
	case isPure(name) && !isPure(inner):
		return "the core of a service imports events, graph and its other cores only"
	case under(name, service+"/internal") && !under(inner, service+"/internal"):
		return "arrows point down: app imports internal"
	}
	return ""
}

// serviceOf returns the module folder services/<name> that holds a package.
func serviceOf(name string) string {
	parts := strings.SplitN(name, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// refusedStd keeps the outside world away from the pure packages. Package fmt is allowed for Sprintf and Errorf; Purity
// forbids printing.
func refusedStd(name, target string) string {
	if !isPure(name) {
		return ""
	}
	for _, banned := range impure {
		if under(target, banned) {
			return "the core has no clock, no chance, no I/O, no log and no lock"
		}
	}
	return ""
}

// contracted checks that the contract, including its tests, needs nothing but the standard library, so that an importer
// gets one package and no requirement.
func contracted(p Package) []Finding {
	name := dir(p.ImportPath)
	if !under(name, contractDir) {
		return nil
	}
	var found []Finding
	for _, target := range slices.Concat(p.Deps, p.TestImports, p.XTestImports) {
		if !isStd(target) && !under(dir(target), contractDir) {
			found = append(found, Finding{name, 0, "needs " + target + ": the contract uses the standard library only, in tests too"})
		}
	}
	return found
}

// linked checks the indirect dependencies of a service's program: no server of the bus, no terminal library, no other
// service.
func linked(p Package) []Finding {
	name := dir(p.ImportPath)
	if p.Name != "main" || !strings.HasPrefix(name, "services/") {
		return nil
	}
	var found []Finding
	for _, target := range p.Deps {
		other := dir(target)
		switch {
		case strings.HasPrefix(target, "github.com/nats-io/nats-server/"),
			strings.HasPrefix(target, "github.com/spf13/cobra"), strings.HasPrefix(target, "charm.land/"):
			found = append(found, Finding{name, 0, fmt.Sprintf("links %s: a service stays small", target)})
		case strings.HasPrefix(other, "services/") && !under(other, serviceOf(name)):
			found = append(found, Finding{name, 0, fmt.Sprintf("links %s: a service never imports another", target)})
		}
	}
	return found
}

// OneTechnology finds packages inside a service that import two technologies: an adapter has one, so that it can be
// replaced separately.
func OneTechnology(t *Tree) []Finding {
	first := map[string]string{}
	var found []Finding
	t.eachImport(func(file *GoFile, at token.Pos, target string) {
		name := file.Dir()
		if !strings.HasPrefix(name, "services/") || !strings.Contains(name, "/internal/") {
			return
		}
		if target != Base+"pkg/bus" && target != Base+"pkg/llm" {
			return
		}
		if other := first[name]; other != "" && other != target {
			found = append(found, t.find(at, "imports %s beside %s: an adapter has one technology", target, other))
		}
		first[name] = target
	})
	return sorted(found)
}
