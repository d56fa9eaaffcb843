package lint_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/cmd/internal/lint"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestRuleFindsWhatBreaksItAndNothingElse(t *testing.T) {
	for _, test := range []ruleCase{
		{
			"a core that imports the outside", lint.Layers,
			map[string]string{"pkg/graph/a.go": "package graph\nimport \"fmt\"\nimport \"os\"\nimport \"math/rand/v2\"\nimport \"" + lint.Base + "pkg/events\"\nimport \"" + lint.Base + "pkg/bus\"\n"},
			[]string{"pkg/graph/a.go:3: ", "pkg/graph/a.go:4: ", "pkg/graph/a.go:6: "},
		},
		{
			"a service that imports another service, or NATS", lint.Layers,
			map[string]string{
				"services/planner/app/a.go":      "package app\nimport \"" + lint.Base + "services/scheduler/app\"\nimport \"github.com/nats-io/nats.go\"\nimport \"" + lint.Base + "pkg/host\"\n",
				"services/planner/app/a_test.go": "package app\nimport \"github.com/nats-io/nats.go\"\n",
			},
			[]string{"services/planner/app/a.go:2: ", "services/planner/app/a.go:3: "},
		},
		{
			"an inner room that imports upwards", lint.Layers,
			map[string]string{
				"services/scheduler/internal/loop/a.go": "package loop\nimport \"" + lint.Base + "services/scheduler/app\"\nimport \"" + lint.Base + "services/scheduler/internal/store\"\nimport \"" + lint.Base + "pkg/host\"\n",
				"services/planner/internal/plan/a.go":   "package plan\nimport \"" + lint.Base + "services/planner/internal/loop\"\nimport \"" + lint.Base + "pkg/graph\"\n",
			},
			[]string{"services/planner/internal/plan/a.go:2: ", "services/scheduler/internal/loop/a.go:2: ", "services/scheduler/internal/loop/a.go:4: "},
		},
		{
			"a package without a row, and a row that points at nothing", lint.Rooms,
			map[string]string{
				"ARCHITECTURE.md":    "| `pkg/{a,b}` | and `pkg/gone` |\n`pkg/c/*`, `pkg/c/d/x.go`, `pkg/c/d/gone.go`\n",
				"pkg/a/a.go":         "package a\n",
				"pkg/b/b.go":         "package b\n",
				"pkg/c/d/x.go":       "package d\n",
				"pkg/c/d/e/y.go":     "package e\n",
				"pkg/f/only_test.go": "package f\n",
			},
			[]string{"ARCHITECTURE.md: ", "ARCHITECTURE.md:1: ", "ARCHITECTURE.md:2: "},
		},
		{
			"guides that name what does not exist", lint.References,
			map[string]string{
				"ARCHITECTURE.md": "`pkg/a/a.go`, `f` and `t.m`\n`pkg/a/a.go`, `g`\n`b.go`, `t`; `T.Gone`, `a.F`, `job.requested`\n\n## Next\n`b.go`\n",
				"CONTRIBUTING.md": "[there](docs/tour.md#x) [gone](docs/gone.md) [else](https://example.com/x)\n",
				"docs/tour.md":    "`pkg/gone/a.go`\n[back](../ARCHITECTURE.md)\n",
				"docs/debug.md":   "at ./pkg/a/a.go:1\nat ./pkg/a/gone.go:1\n",
				"docs/other.md":   "`pkg/gone/a.go`\n",
				"pkg/a/a.go":      "package a\nfunc f() {}\nfunc F() {}\nfunc (*t) m() {}\n",
				"pkg/a/b.go":      "package a\ntype t struct{}\n",
			},
			[]string{"ARCHITECTURE.md:2: ", "ARCHITECTURE.md:3: ", "ARCHITECTURE.md:6: ", "CONTRIBUTING.md:1: ", "docs/debug.md:2: ", "docs/tour.md:1: "},
		},
		{
			"a guide that is missing", lint.References,
			map[string]string{"ARCHITECTURE.md": "x\n", "docs/tour.md": "x\n", "docs/debug.md": "x\n"},
			[]string{"CONTRIBUTING.md: "},
		},
		{
			"a page without a glossary", lint.Glossary,
			map[string]string{"ARCHITECTURE.md": "# A\n"},
			[]string{"ARCHITECTURE.md: "},
		},
		{
			"a glossary of thirty words", lint.Glossary,
			map[string]string{"ARCHITECTURE.md": "# A\n\n## Glossary\n| a | b |\n|---|---|\n" + strings.Repeat("| x | y |\n", 30) + "\n## B\n| z | z |\n"},
			nil,
		},
		{
			"a glossary that is too long", lint.Glossary,
			map[string]string{"ARCHITECTURE.md": "# A\n\n## Glossary\n| a | b |\n|---|---|\n" + strings.Repeat("| x | y |\n", 31)},
			[]string{"ARCHITECTURE.md: "},
		},
		{
			"a package that no row holds", lint.Layers,
			map[string]string{"pkg/new/a.go": "package new\nimport \"fmt\"\n"},
			[]string{"pkg/new/a.go:2: "},
		},
		{
			"an adapter with two technologies", lint.OneTechnology,
			map[string]string{"services/planner/internal/loop/a.go": "package loop\nimport \"" + lint.Base + "pkg/bus\"\nimport \"" + lint.Base + "pkg/llm\"\n"},
			[]string{"services/planner/internal/loop/a.go:3: "},
		},
		{
			"a core with a clock, output and concurrency", lint.Purity,
			map[string]string{
				"pkg/graph/a.go": "package graph\nimport (\"fmt\"\n\"time\")\nvar d = time.Second\nfunc f(c chan int) {\n_ = time.Now()\nfmt.Println(fmt.Sprint(1))\ngo f(c)\nprintln(1)\n}\n",
				"pkg/host/a.go":  "package host\nimport \"time\"\nfunc f() {\n_ = time.Now()\n}\n",
			},
			[]string{"pkg/graph/a.go:5: ", "pkg/graph/a.go:6: ", "pkg/graph/a.go:7: ", "pkg/graph/a.go:8: ", "pkg/graph/a.go:9: "},
		},
		{
			"files over the budget", lint.Files,
			map[string]string{
				"pkg/a/long.go":      "package a\n" + strings.Repeat("\n", 500),
				"pkg/a/fits.go":      "package a\n" + strings.Repeat("\n", 499),
				"pkg/a/long_test.go": "package a\n" + strings.Repeat("\n", 900),
				"pkg/a/gen.go":       "// Code generated by gen. DO NOT EDIT.\npackage a\n" + strings.Repeat("\n", 900),
			},
			[]string{"pkg/a/long.go: "},
		},
		{
			"a contract over the budget", lint.Contract,
			map[string]string{
				"pkg/events/a.go": "package events\n" + strings.Repeat("\n", 800),
				"pkg/events/b.go": "package events\n" + strings.Repeat("\n", 800),
			},
			[]string{"pkg/events: "},
		},
		{
			"functions over the budget, tables excepted", lint.Functions,
			map[string]string{"pkg/a/a.go": "package a\nfunc long() {\n" + lines(59) + "}\nfunc fits() {\n" + lines(58) + "}\n" +
				"func table(x int) []int {\nreturn []int{\n" + strings.Repeat("1,\n", 90) + "}\n}\n" +
				"func choose(x int) {\nswitch x {\n" + strings.Repeat("case 1:\n", 90) + "}\n}\n"},
			[]string{"pkg/a/a.go:2: "},
		},
		{
			"interfaces that are wide or empty, constraints excepted", lint.Interfaces,
			map[string]string{"pkg/a/a.go": "package a\ntype Wide interface { A(); B(); C(); D() }\ntype Fits interface { A(); B(); C() }\ntype Number interface { ~int | ~uint }\ntype Any interface{}\n"},
			[]string{"pkg/a/a.go:2: ", "pkg/a/a.go:5: "},
		},
		{
			"types with more methods than one has to know", lint.Methods,
			map[string]string{
				"pkg/a/a.go": "package a\ntype Fits struct{}\ntype Large[T any] struct{}\n" +
					strings.Repeat("func (Fits) M() {}\n", 60) + strings.Repeat("func (*Large[T]) M() {}\n", 61),
				"services/planner/a_test.go": "package a\ntype Other struct{}\n" + strings.Repeat("func (Other) M() {}\n", 61),
			},
			[]string{"pkg/a/a.go:3: "},
		},
		{
			"packages without a name or an introduction", lint.Packages,
			map[string]string{
				"pkg/utils/doc.go":   "// Package utils is vague.\npackage utils\n",
				"pkg/bare/a.go":      "// Package bare has its comment in the wrong file.\npackage bare\n",
				"pkg/good/doc.go":    "// Package good is fine.\npackage good\n",
				"pkg/test/a_test.go": "package test\n",
			},
			[]string{"pkg/bare: ", "pkg/utils/doc.go:1: "},
		},
		{
			"exported names and fields without a comment", lint.Comments,
			map[string]string{
				"pkg/host/a.go":   "package host\nfunc F() {}\ntype T struct { A int }\nfunc (t *T) M() {}\ntype hidden int\nfunc (hidden) M() {}\n// Group of errors.\nvar (\nErrA = 1\n)\nconst B = 1\n// ASettings has fields.\ntype ASettings struct {\n// X is documented.\nX int\nY int\n}\n",
				"pkg/events/a.go": "package events\n// T is a part of the contract.\ntype T struct {\nA int\nB int // B is documented.\n// C and D belong together.\nC int\nD int\nE int\n}\n",
			},
			[]string{"pkg/events/a.go:4: ", "pkg/events/a.go:9: ", "pkg/host/a.go:2: ", "pkg/host/a.go:3: ", "pkg/host/a.go:4: ", "pkg/host/a.go:11: ", "pkg/host/a.go:16: "},
		},
		{
			"promises to finish later", lint.OpenEnds,
			map[string]string{
				"pkg/a/a.go":      "package a\n// TO" + "DO: more\nconst s = \"TO" + "DO\"\n",
				"scripts/x.sh":    "# ok\n# FIX" + "ME\n",
				"CONTRIBUTING.md": "no TO" + "DO in code\n",
			},
			[]string{"pkg/a/a.go:2: ", "scripts/x.sh:2: "},
		},
		{
			"sleeps under any name of the package", lint.Sleeps,
			map[string]string{
				"pkg/a/a_test.go": "package a\nimport clock \"time\"\nfunc f() {\nclock.Sleep(1)\n}\n",
				"pkg/a/a.go":      "package a\ntype t struct{}\nfunc (t) Sleep(int) {}\nfunc g(time t) {\ntime.Sleep(1)\n}\n",
			},
			[]string{"pkg/a/a_test.go:4: "},
		},
		{
			"tests that skip themselves", lint.Skips,
			map[string]string{"pkg/a/a_test.go": "package a\nfunc f() {\nt.Skip()\nreader.Skip(3)\ntb.Skipf(\"x\")\n}\n"},
			[]string{"pkg/a/a_test.go:3: ", "pkg/a/a_test.go:5: "},
		},
		{
			"readers of the environment", lint.Environment,
			map[string]string{
				"pkg/bus/a.go":  "package bus\nimport \"os\"\nvar x = os.Getenv(\"X\")\n",
				"pkg/host/a.go": "package host\nimport \"os\"\nvar x = os.Getenv(\"X\")\n",
			},
			[]string{"pkg/bus/a.go:3: "},
		},
		{
			"package variables that change", lint.Globals,
			map[string]string{
				"pkg/a/a.go": "package a\nimport \"sync\"\nvar count int\nvar table = map[string]int{}\nvar mu sync.Mutex\nvar fixed = []int{1}\nfunc init() {}\nfunc f() {\ncount++\ntable[\"x\"] = fixed[0]\nfixed := 1\nfixed = 2\n_ = fixed\n}\n",
				"pkg/a/b.go": "package a\nfunc g(fixed []int) {\nfixed[0] = 1\ncount = 2\n}\n",
			},
			[]string{"pkg/a/a.go:5: ", "pkg/a/a.go:7: ", "pkg/a/a.go:9: ", "pkg/a/a.go:10: ", "pkg/a/b.go:4: "},
		},
		{
			"paths and hosts of one machine", lint.Places,
			map[string]string{
				"README.md": "cd /ho" + "me/ann/jobgraph\nsee services/work/loop and ./work/x\nor /ho" + "me/you/jobgraph\n",
				"go.work":   "// https://artifact" + "ory.example.com/go\n// https://proxy.golang.org/x\n",
			},
			[]string{"README.md:1: ", "go.work:1: "},
		},
		{
			"commands that do not exist", missing("Makefile: "),
			map[string]string{
				"Makefile":        "PHONY = x\ntest: ## test\n\tscripts/gone.sh\nbare:\n",
				"README.md":       "Run `make test`, not `make tests`,\nmake sure of it, and scripts/here.sh\n```\n$ make FUZZTIME=1m frob\nmake bare\n```\n",
				"scripts/here.sh": "true\n",
			},
			[]string{"Makefile:3: ", "Makefile:4: ", "README.md:1: ", "README.md:4: "},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := fstest.MapFS{}
			for name, source := range test.files {
				files[name] = &fstest.MapFile{Data: []byte(source)}
			}
			tree := musttest.Get(lint.Load(files))(t)
			found := test.rule(tree)
			var lines []string
			for _, finding := range found {
				finding.Text = ""
				lines = append(lines, finding.String())
			}
			if diff := cmp.Diff(test.want, lines); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadNamesTheFileThatDoesNotParse(t *testing.T) {
	_, err := lint.Load(fstest.MapFS{"pkg/a/a.go": {Data: []byte("package a\nfunc {")}})
	if err == nil {
		t.Fatal("no error for a file that does not parse")
	}
	if want := "parse: pkg/a/a.go:2:6: "; len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
		t.Errorf("error %q, want it to begin with %q", err, want)
	}
}

func TestLinksNamesWhatASmallProgramMustNotCarry(t *testing.T) {
	found := lint.Links([]lint.Package{
		{ImportPath: lint.Base + "pkg/events", Deps: []string{"fmt", "example.com/x"}, TestImports: []string{"example.com/y"}},
		{ImportPath: lint.Base + "services/planner", Name: "main", Deps: []string{
			lint.Base + "services/planner/app", lint.Base + "services/scheduler/app", "github.com/nats-io/nats-server/v2/server",
		}},
		{ImportPath: lint.Base + "cmd/jobgraph", Name: "main", Deps: []string{"github.com/nats-io/nats-server/v2/server"}},
		{ImportPath: lint.Base + "pkg/llm", Deps: []string{"google.golang.org/grpc", "google.golang.org/grpc/codes"}},
		{ImportPath: lint.Base + "pkg/bus/bustest", Deps: []string{"google.golang.org/grpc"}},
	})
	var got []string
	for _, finding := range found {
		got = append(got, finding.String())
	}
	want := []string{
		"pkg/events: needs example.com/x: the contract uses the standard library only, in tests too",
		"pkg/events: needs example.com/y: the contract uses the standard library only, in tests too",
		"pkg/llm: needs google.golang.org/grpc: it adds 4 to 9 MB to a program; use a package without it",
		"services/planner: links github.com/jobgraph/jobgraph/services/scheduler/app: a service never imports another",
		"services/planner: links github.com/nats-io/nats-server/v2/server: a service stays small",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
