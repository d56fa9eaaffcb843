//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp/kb"
)

// wide returns a plan of n steps that depend on its first one, in ranks of fifty.
func wide(n int) map[string]any {
	steps := []any{map[string]any{"id": "pack", "goal": "wait", "expert": "Clerk"}}
	for i := 1; i < n; i++ {
		after := []string{"pack"}
		if i > 50 {
			after = []string{fmt.Sprintf("s%d", i-50), fmt.Sprintf("s%d", i-1-i%7-40)}
		}
		if i > 50 && i-1-i%7-40 < 1 {
			after = after[:1]
		}
		steps = append(steps, map[string]any{"id": fmt.Sprintf("s%d", i), "goal": "go on", "title": fmt.Sprintf("Step %d of many", i), "expert": "Clerk", "dependencies": after})
	}
	return map[string]any{"title": fmt.Sprintf("%d steps", n), "subjobs": steps}
}

// submit submits a job over HTTP.
func (s *stack) submit(id string, plan map[string]any, more map[string]any) {
	s.Helper()
	body := map[string]any{"id": id, "goal": plan["title"], "plan": plan}
	for name, value := range more {
		body[name] = value
	}
	s.api(http.MethodPost, "/jobs", body, nil)
}

// hostile is text that tries to run, to load or to break out.
const hostile = `<script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)>"'</title></textarea>[x](javascript:alert(1))`

func TestEveryPageByMouseAndByKeyboard(t *testing.T) {
	s := begin(t, trip())
	s.runner("far")
	s.open("find")
	s.open("evil")
	s.submit("evil", map[string]any{"title": hostile, "subjobs": []any{map[string]any{"id": "evil", "goal": hostile, "title": hostile, "expert": "Clerk"}, map[string]any{"id": "ask", "goal": hostile, "title": hostile, "expert": "Person"}}},
		map[string]any{"labels": map[string]string{"x": hostile}, "session": "talk"})
	s.submit("trip", tripPlan(), nil)
	v := look(s, desktop, "/jobs")
	v.read("table.jobs", "evil")

	// Open every page.
	for path, want := range map[string]string{
		"/jobs": "New job", "/jobs?q=evil": "evil", "/jobs?status=STOPPED": "No job matches", "/inbox": "How many", "/sessions": "talk", "/sessions/talk": "evil", "/schedules": "chedule",
		"/experts": "Clerk", "/letters": "et aside", "/submit": "Goal", "/open": "Drop an export", "/nowhere": "Nothing is here", "/jobs/nobody": "nobody", "/compare/evil/trip": "side by side",
		"/jobs/trip?tab=steps": "Book the bus", "/jobs/trip?tab=timeline": "budget", "/jobs/trip?tab=events": "graph.created", "/jobs/trip?tab=result": "Graph", "/jobs/evil?step=evil": "Goal",
	} {
		v.visit(path)
		v.read("#app", want)
		v.gone(".loading")
	}
	v.visit("/jobs")
	v.read("table.jobs", "trip")
	v.keys("/")
	v.expression("document.activeElement.id === 'search'")
	v.keys("Summer party")
	v.tabTo("a.title", "Summer party")
	v.keys(kb.Enter)
	v.expression("location.hash.startsWith('#/jobs/trip')")
	v.step("pack", "running")
	v.tabTo("job-graph", "")
	v.keys(kb.ArrowDown, kb.ArrowRight, kb.Home, kb.Enter)
	v.see(".drawer")
	v.keys(kb.Escape)
	v.gone(".drawer")
	v.visit("/inbox?job=trip")
	v.tabTo("article input", "")
	v.keys("5")
	v.tabTo("article button", "Answer")
	v.keys(kb.Enter)
	v.read(".toast", "answered")
	v.visit("/jobs/trip")
	v.tabTo("button", "Stop")
	v.keys(kb.Enter)
	v.see("form.act")
	v.tabTo("form.act button[type=submit]", "Stop")
	v.keys(kb.Enter)
	v.read(".job-head", "stopped")
	// Use the actions of a job and its steps.
	s.open("pack", "drive", "menu", "party")
	v.visit("/jobs/trip")
	v.click(".page-head button", "Recover")
	v.click("form.act button[type=submit]", "Recover")
	v.step("pack", "finished")
	v.visit("/jobs/trip?step=pack")
	v.click(".drawer .actions button", "Rerun")
	v.write("#act-goal", "Pack again")
	v.read("form.act .diff-add", "Pack again")
	v.click("form.act summary", "The same from a terminal")
	v.read("form.act", "jobgraph rerun trip/pack")
	v.click("form.act button[type=submit]", "Rerun")
	s.until("pack runs again", func() bool {
		var step struct {
			Runs []struct{} `json:"runs"`
		}
		s.api(http.MethodGet, "/jobs/trip/subjobs/pack", nil, &step)
		return len(step.Runs) > 1
	})
	v.visit("/jobs/trip")
	v.click(".page-head button", "Stop")
	v.click("form.act button[type=submit]", "Stop")
	v.read(".job-head", "stopped")
	v.click(".page-head button", "Delete")
	v.write("#act-confirm", "trip")
	v.click("form.act button[type=submit]", "Delete")
	v.expression("location.hash === '#/jobs'")
	// Remove the token and see the page ask for another.
	command(v, network.ClearBrowserCookies, cdp.Empty{})
	v.visit("/experts")
	v.see("#token")
}

// inert fails the test if text written by strangers has become an element of the page.
func inert(v *view, where string) {
	v.Helper()
	if n := eval[int](v, `document.querySelectorAll("#app script, #app img:not([src^='/api/']), #app svg[onload], #app [onerror], #app iframe, #app a[href^='javascript']").length`); n > 0 {
		v.Errorf("%s: %d elements of a stranger", where, n)
	}
}

func TestOnAPhone(t *testing.T) {
	s := begin(t, trip())
	s.runner("far")
	s.open("find")
	s.submit("trip", tripPlan(), nil)
	v := look(s, phone, "/jobs")
	v.read("table.jobs", "Summer party")
	v.visit("/jobs/trip")
	v.step("pack", "running")
	for _, path := range []string{"/jobs", "/jobs/trip", "/jobs/trip?tab=graph", "/jobs/trip?step=pack", "/inbox", "/submit", "/experts"} {
		v.visit(path)
		v.gone(".loading")
		if over := eval[int](v, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("%s is %d pixels wider than the phone", path, over)
		}
	}
	v.visit("/jobs/trip")
	v.step("pack", "running")
	picture(v, "phone-steps")
	v.visit("/jobs/trip?tab=graph")
	v.step("pack", "running")
	picture(v, "phone-graph")
	v.visit("/inbox")
	v.see("article input")
	picture(v, "phone-inbox")
}

func TestManySteps(t *testing.T) {
	s := begin(t, trip())
	for _, n := range []int{500, 10_000} {
		id := fmt.Sprintf("many-%d", n)
		s.submit(id, wide(n), map[string]any{"limits": map[string]any{"max_steps": 20_000}})
		v := look(s, desktop, "/jobs/"+id)
		v.expression(fmt.Sprintf("document.querySelector('job-graph')?.shown?.subjobs.length === %d", n))
		v.step("pack", "running")
		// Enter follows right after the last letter, before the next frame.
		eval[bool](v, fmt.Sprintf(`(() => {
			const e = document.querySelector("#find");
			e.focus();
			e.value = "Step %d of";
			e.dispatchEvent(new Event("input", {bubbles: true}));
			e.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
			return true;
		})()`, n-1))
		v.read(".drawer", fmt.Sprintf("s%d", n-1))
		v.keys(kb.Escape)
		v.write("#find", kb.Backspace)
		v.click("button", "Fit")
		v.visit("/jobs/" + id + "?tab=steps")
		v.read(".pager", fmt.Sprintf("of %d", n+1))
	}
}
