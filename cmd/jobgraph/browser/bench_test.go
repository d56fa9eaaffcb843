//go:build browser

package browser

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// BenchmarkFirstPaint is how long after the navigation a page shows the graph of a job, and the memory of its scripts then.
func BenchmarkFirstPaint(b *testing.B) {
	s := begin(b, trip())
	for _, n := range []int{500, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			id := fmt.Sprintf("many-%d-%d", n, b.N)
			s.submit(id, wide(n), map[string]any{"limits": map[string]any{"max_steps": 20_000}})
			v := look(s, desktop, "/jobs/"+id)
			v.step("pack", "running")
			var took, heap float64
			for b.Loop() {
				v.do(chromedp.Reload())
				took += soon[float64](v, fmt.Sprintf("document.querySelector('job-graph')?.shown?.subjobs.length === %d && performance.now()", n))
				heap = max(heap, eval[float64](v, "performance.memory.usedJSHeapSize"))
			}
			b.ReportMetric(took/float64(b.N), "ms/paint")
			b.ReportMetric(heap/(1<<20), "MiB-heap")
		})
	}
}

// soon waits for an expression that it evaluates before every picture of the browser.
func soon[T any](v *view, js string) T {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Poll[T](js, chromedp.WithPollingTimeout(0)))
	if err != nil {
		v.Fatal("browser:", err)
	}
	return value
}

// BenchmarkEventToPage is how long after its time in the log the end of a step is on the page.
func BenchmarkEventToPage(b *testing.B) {
	files := trip()
	files["experts/quick.md"] = "---\nname: Quick\ndescription: Answers at once\nkind: command\nsandbox: none\ncommand: [sh, -c, 'cat >/dev/null; echo 1']\n---\n"
	s := begin(b, files)
	steps := []any{map[string]any{"id": "pack", "goal": "wait", "expert": "Clerk"}}
	const n = 200
	for i := range n {
		after := "pack"
		if i >= 4 {
			after = fmt.Sprintf("s%d", i-4)
		}
		steps = append(steps, map[string]any{"id": fmt.Sprintf("s%d", i), "goal": "go on", "expert": "Quick", "dependencies": []string{after}})
	}
	var lags []float64
	for b.Loop() {
		id := fmt.Sprintf("lag-%d", len(lags))
		s.submit(id, map[string]any{"title": "Lag", "subjobs": steps}, nil)
		v := look(s, desktop, "/jobs/"+id)
		v.see("job-graph")
		eval[bool](v, `(() => {
			const seen = new Set();
			window.lags = [];
			const look = () => {
				for (const n of document.querySelector("job-graph")?.shown?.subjobs || []) {
					if (n.state !== "finished" || !n.ended || seen.has(n.id)) continue;
					seen.add(n.id);
					window.lags.push(Date.now() - Date.parse(n.ended));
				}
				requestAnimationFrame(look);
			};
			look();
			return true;
		})()`)
		s.open("pack")
		v.read(".job-head", "finished")
		lags = append(lags, eval[[]float64](v, "window.lags")...)
	}
	slices.Sort(lags)
	b.ReportMetric(lags[len(lags)/2], "ms-p50")
	b.ReportMetric(lags[len(lags)*99/100], "ms-p99")
}
