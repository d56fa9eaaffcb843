//go:build browser

package browser

import (
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// The modules of the console keep the rules that are written in TypeScript beside the sources: facts, frames, streams, forms,
// words, pictures.
func TestModules(t *testing.T) {
	bundle := exec.Command("go", "tool", "esbuild", "../services/gateway/internal/console/test/all.ts", "--bundle", "--target=es2022", "--log-level=warning")
	bundle.Dir, bundle.Stderr = root()+"/cmd", t.Output()
	script := musttest.Get(bundle.Output())(t)
	v := launch(t, "", desktop)
	v.do(chromedp.Navigate("data:text/html,<title>Rules</title>")) // A browser draws no frames for an empty page.
	eval[bool](v, string(script)+";true")
	v.expression("!!window.results")
	results := eval[[][2]string](v, "window.results")
	if len(results) < 30 {
		t.Errorf("%d rules: some were lost", len(results))
	}
	for _, r := range results {
		t.Run(r[0], func(t *testing.T) {
			if r[1] != "" {
				t.Error(r[1])
			}
		})
	}
}
