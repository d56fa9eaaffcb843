package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/cli"
	"github.com/jobgraph/jobgraph/pkg/goldentest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// The picture in docs/overview.md shows a real run: `make picture` redraws it.
func TestThePictureOfARunIsThatOfARun(t *testing.T) {
	vars := map[string]string{"HOME": t.TempDir(), "JOBGRAPH_SANDBOX": "best-effort"}
	env := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	stop, where := startUp(t, env, []string{"--model", "fake"})
	defer stop()
	vars["NATS_URL"] = where
	p := launch(env, nil, "run", "--id", "bees", "Write a page about bees")
	if code := <-p.code; code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, p.stderr.String())
	}
	p = launch(env, nil, "graph", "bees", "-o", "svg")
	if code := <-p.code; code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, p.stderr.String())
	}
	path, drawn := filepath.Join("..", "..", "docs", "run.svg"), []byte(p.stdout.String())
	if goldentest.Update() {
		musttest.Do(t, os.WriteFile(path, drawn, 0o644))
	}
	if shown, err := os.ReadFile(path); err != nil || !bytes.Equal(shown, drawn) {
		t.Errorf("%s is another picture (%v); make picture redraws it", path, err)
	}
}
