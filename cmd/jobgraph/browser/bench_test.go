//go:build browser

package browser

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// BenchmarkFirstPaint measures how long after a navigation the page shows the graph of a job, and the memory of its scripts at that
// time.
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

// soon waits for a value of an expression, which it evaluates before every frame of the browser.
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

// BenchmarkEventToPage measures the time from the end of a step in the log until it is on the page.
func BenchmarkEventToPage(b *testing.B) {
	files := trip()
	files["experts/quick.md"] = "---\nname: Quick\ndescription: Answers at once\nkind: command\nsandbox: none\ncommand: [sh, -c, 'cat >/dev/null; sleep 0.2; echo 1']\n---\n"
	s := begin(b, files)
	steps := []any{map[string]any{"id": "pack", "goal": "wait", "expert": "Clerk"}}
	const n = 60
	for i := range n {
		after := "pack"
		if i >= 4 {
			after = fmt.Sprintf("s%d", i-4)
		}
		steps = append(steps, map[string]any{"id": fmt.Sprintf("s%d", i), "goal": "go on", "expert": "Quick", "dependencies": []string{after}})
	}
	v := look(s, desktop, "/jobs") // One browser for all jobs, as a person at work has it.
	var lags []float64
	for b.Loop() {
		id := fmt.Sprintf("lag-%d", len(lags))
		s.submit(id, map[string]any{"title": "Lag", "subjobs": steps}, nil)
		eval[string](v, fmt.Sprintf("location.hash = '/jobs/%s'", id))
		v.read(".job-head", id)
		v.see("job-graph")
		eval[bool](v, `(() => {
			const seen = new Set(), lags = window.lags = [];
			const look = () => {
				for (const n of document.querySelector("job-graph")?.shown?.subjobs || []) {
					if (n.state !== "finished" || !n.ended || seen.has(n.id)) continue;
					seen.add(n.id);
					lags.push(Date.now() - Date.parse(n.ended));
				}
				if (window.lags === lags) requestAnimationFrame(look);
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

// ours matches the symbols of the packages that jobgraph has for its console alone.
var ours = regexp.MustCompile(`gateway/internal/(console|render)\.|pkg/canvas\.|yuin/goldmark|microcosm-cc/bluemonday|aymanbagabas/go-udiff`)

// BenchmarkSize measures what the browser loads, compressed, and what the console adds to the program: its own packages, and the
// libraries that make HTML for it.
func BenchmarkSize(b *testing.B) {
	s := begin(b, trip())
	program := filepath.Join(b.TempDir(), "jobgraph")
	build := exec.Command("go", "build", "-o", program, "./cmd/jobgraph") // Unlike a release, it keeps its symbols.
	build.Dir = root()
	if said, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, said)
	}
	symbols := musttest.Get(exec.Command("go", "tool", "nm", "-size", program).Output())(b)
	for b.Loop() {
		loaded, added := 0, 0
		for _, path := range []string{"/", "/assets/app.js", "/assets/app.css", "/assets/icon.svg"} {
			r := musttest.Get(http.NewRequest(http.MethodGet, "http://"+s.http+path, nil))(b)
			r.Header.Set("Accept", "text/html,*/*")
			r.Header.Set("Accept-Encoding", "gzip") // A header that is set by hand leaves the body compressed.
			r.Header.Set("Authorization", "Bearer "+token)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				b.Fatal(err)
			}
			n, err := io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close() // The body has been read.
			if err != nil || answer.StatusCode != http.StatusOK {
				b.Fatal(path, answer.Status, err)
			}
			loaded += int(n)
		}
		for line := range strings.Lines(string(symbols)) {
			if f := strings.Fields(line); len(f) > 3 && ours.MatchString(f[3]) {
				size := musttest.Get(strconv.Atoi(f[1]))(b)
				added += size
			}
		}
		b.ReportMetric(float64(loaded)/1e3, "kB-loaded")
		b.ReportMetric(float64(added)/1e6, "MB-added")
	}
}
