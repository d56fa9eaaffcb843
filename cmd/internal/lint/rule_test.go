package lint_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/cmd/internal/lint"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestRuleFindsWhatBreaksItAndNothingElse(t *testing.T) {
	for _, test := range ruleCases() {
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
