package scaffold_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/scaffold"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestTheNameOfAProjectIsThatOfItsFolder(t *testing.T) {
	for dir, want := range map[string]string{
		"minutes": "minutes", "/a/My Project_2": "my-project-2", "..": "project", "日本": "project", "a--b!": "a-b", "Ünder": "nder",
	} {
		if got := scaffold.NameOf(dir); got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
}

// checkout makes a folder that looks like a checkout of Jobgraph.
func checkout(t *testing.T, module string) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"services/expert-runner", "bin"} {
		musttest.Do(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	musttest.Write(t, filepath.Join(root, "services/expert-runner/go.mod"), "module "+module+"\n")
	return root
}

func TestAWorkerInGoIsBuiltAgainstTheCheckoutElseTheRelease(t *testing.T) {
	ours, other := checkout(t, "github.com/jobgraph/jobgraph/services/expert-runner"), checkout(t, "example.com/runner")
	program := filepath.Join(ours, "bin", "jobgraph")
	for name, c := range map[string]struct {
		named, version string
		places         []string
		want           scaffold.Project
		fault          events.Code
	}{
		"named":                 {ours, "v1.2.3", []string{other}, scaffold.Project{Source: ours}, ""},
		"named wrongly":         {other, "v1.2.3", []string{ours}, scaffold.Project{}, events.CodeNotFound},
		"the program's place":   {"", "v1.2.3", []string{other, program}, scaffold.Project{Source: ours}, ""},
		"the current folder":    {"", "(devel)", []string{ours, ""}, scaffold.Project{Source: ours}, ""},
		"a release":             {"", "v1.2.3", []string{other, ""}, scaffold.Project{Version: "v1.2.3"}, ""},
		"a changed work tree":   {"", "v1.2.4-0.20261101101010-0123456789ab+dirty", []string{other}, scaffold.Project{}, events.CodeMissing},
		"a build without git":   {"", "(devel)", nil, scaffold.Project{}, events.CodeMissing},
		"no version at all":     {"", "", []string{""}, scaffold.Project{}, events.CodeMissing},
		"a checkout of another": {"", "", []string{other}, scaffold.Project{}, events.CodeMissing},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := scaffold.Project{}.Against(c.named, c.version, c.places...)
			var fault *events.Fault
			if errors.As(err, &fault) != (c.fault != "") || fault != nil && (fault.Code != c.fault || fault.Hint == "") {
				t.Fatal(err)
			}
			musttest.Equal(t, c.want, got)
		})
	}
}

// A project requires a release by its version or uses a checkout by its path, and has no file of the other kind.
func TestTheModuleOfAWorkerSaysWhatItIsBuiltAgainst(t *testing.T) {
	kind := musttest.Get(scaffold.Find("worker-go"))(t)
	read := func(p scaffold.Project) (module, work string, files []string) {
		dir := filepath.Join(t.TempDir(), "new", "worker")
		files = musttest.Get(kind.Write(dir, p))(t)
		text := musttest.Read(t, filepath.Join(dir, "go.mod"))
		uses, _ := os.ReadFile(filepath.Join(dir, "go.work")) // A project for a release has none.
		return string(text), string(uses), files
	}
	module, work, files := read(scaffold.Project{Name: "counter", Version: "v0.4.0"})
	if strings.Count(module, " v0.4.0\n") != 3 || work != "" || strings.Contains(strings.Join(files, " "), "go.work") {
		t.Errorf("%v:\n%s\n%s", files, module, work)
	}
	module, work, files = read(scaffold.Project{Name: "counter", Source: "/a b/jobgraph"})
	if strings.Contains(module, "require") || !strings.Contains(work, "\t\"/a b/jobgraph/services/expert-runner\"\n") || !strings.Contains(strings.Join(files, " "), "go.work") {
		t.Errorf("%v:\n%s\n%s", files, module, work)
	}
}

func TestNoFileOfAPersonIsReplaced(t *testing.T) {
	for _, kind := range scaffold.Templates() {
		dir := t.TempDir()
		musttest.Write(t, filepath.Join(dir, ".hidden"), "mine")
		files, err := kind.Write(dir, scaffold.Project{Name: "x"})
		var fault *events.Fault
		if !errors.As(err, &fault) || fault.Code != events.CodeConflict || !strings.Contains(fault.Message, ".hidden") || len(files) > 0 {
			t.Errorf("%s: %v %v", kind.Name, files, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%s: %v %v", kind.Name, entries, err)
		}
	}
	file := musttest.Temp(t, "file", "")
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		var fault *events.Fault
		if _, err := scaffold.Templates()[0].Write(dir, scaffold.Project{Name: "x"}); !errors.As(err, &fault) || fault.Code != events.CodeInvalid || fault.Cause == "" {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
