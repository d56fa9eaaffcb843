package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A kind added to a copy of this package, as one file and one line, executes work, has its own keys, and appears in faults.
func TestANewKindIsOneFileAndOneLine(t *testing.T) {
	const table = "type kinds struct {\n"
	source := musttest.Read(t, "kind.go")
	before, after, found := strings.Cut(string(source), table)
	if !found {
		t.Fatalf("kind.go has no line %q", table)
	}
	changed := musttest.Temp(t, "kind.go", before+table+"\tEcho echoKind `yaml:\",inline\"`\n"+after)
	here := musttest.Get(os.Getwd())(t)
	replace := map[string]string{
		filepath.Join(here, "kind.go"):      changed,
		filepath.Join(here, "echo.go"):      filepath.Join(here, "testdata/kind/echo.go"),
		filepath.Join(here, "echo_test.go"): filepath.Join(here, "testdata/kind/echo_test.go"),
	}
	overlay := musttest.JSON(t, map[string]any{"Replace": replace})
	at := musttest.Temp(t, "overlay.json", overlay)
	out, err := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-v", "-overlay", at, "-run", "Echo", ".").CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: Test") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}
