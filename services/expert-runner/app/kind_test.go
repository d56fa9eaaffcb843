package app_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A kind added to a copy of this package, as one file and one line, executes work, has its own keys, and appears in faults.
func TestANewKindIsOneFileAndOneLine(t *testing.T) {
	const table = "type kinds struct {\n"
	source, err := os.ReadFile("kind.go")
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(source), table)
	if !found {
		t.Fatalf("kind.go has no line %q", table)
	}
	changed := filepath.Join(t.TempDir(), "kind.go")
	if err := os.WriteFile(changed, []byte(before+table+"\tEcho echoKind `yaml:\",inline\"`\n"+after), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{
		filepath.Join(here, "kind.go"):      changed,
		filepath.Join(here, "echo.go"):      filepath.Join(here, "testdata/kind/echo.go"),
		filepath.Join(here, "echo_test.go"): filepath.Join(here, "testdata/kind/echo_test.go"),
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(at, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-v", "-overlay", at, "-run", "Echo", ".").CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: Test") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}
