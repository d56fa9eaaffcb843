//go:build browser

package browser

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// Every action of the console is played once: on jobs, steps, plans, questions, schedules, sessions and dead letters.
func TestEveryAction(t *testing.T) {
	files := trip()
	files["model.yaml"] = `answers:
  - when: {contains: ["no file, no plan"]}
    text: "I write nothing. <deliverable>Nothing.</deliverable>"
  - when: {result: wrote}
    text: "<deliverable>It is written.</deliverable>"
  - when: {contains: [Write the invitation]}
    calls: [{name: write_file, args: '{"path":"out/invitation.md","content":"At eight."}'}]
  - when: {contains: [Plan a walk]}
    text: '{"title":"A walk","subjobs":[{"id":"walk","goal":"Walk","title":"Walk","completion_criteria":"done","expert":"Clerk"}]}'
`
	s := begin(t, files)
	s.submit("deeds", map[string]any{"title": "Deeds", "subjobs": []any{
		map[string]any{"id": "pack", "goal": "Pack", "expert": "Clerk"}, map[string]any{"id": "go", "goal": "Go", "expert": "Clerk", "dependencies": []string{"pack"}}, map[string]any{"id": "menu", "goal": "Menu", "expert": "Clerk"},
	}}, nil)
	v := look(s, desktop, "/jobs/deeds")
	v.visit("/jobs/deeds?step=pack")
	v.step("pack", "running")
	deed(v, ".drawer", "Stop step", func() {
		v.click("form.act summary", "The same from a terminal")
		v.read("form.act", "jobgraph stop deeds/pack --only")
		v.read("form.act", "nats req jobs.api.stop")
	})
	v.step("pack", "stopped")
	deed(v, ".drawer", "Retry", nil)
	v.step("pack", "running")
	deed(v, ".drawer", "Declare failed", func() {
		v.expression("document.activeElement.id === 'act-reason'")
		v.write("#act-reason", "The van is gone")
	})
	v.step("pack", "failed")
	v.read(".drawer", "The van is gone")
	// Edit a plan, and fork the job at an event of the past; the two are compared from the list.
	s.submit("plan", map[string]any{"title": "Plan", "subjobs": []any{map[string]any{"id": "pack", "goal": "Pack", "expert": "Clerk"}, map[string]any{"id": "go", "goal": "Go", "expert": "Clerk", "dependencies": []string{"pack"}}}}, nil)
	v.visit("/jobs/plan")
	v.step("pack", "running")
	deed(v, ".page-head", "Edit plan", func() {
		v.expression("document.activeElement.id === 'act-plan'")
		eval[bool](v, "(() => { const e = document.querySelector('#act-plan'); e.value = e.value.replace('\"Go\"', '\"Go by night\"'); e.dispatchEvent(new Event('input', {bubbles: true})); return true; })()")
		v.read("form.act .diff-add", "Go by night")
		v.see("form.act job-graph")
		v.click("form.act summary", "The same from a terminal")
		v.read("form.act", "jobgraph plan update plan -f -")
	})
	v.read(".facts", "plan v2")
	v.see("select[aria-label='Plan version']")
	eval[bool](v, "(document.querySelector('#slider').focus(), true)")
	v.expression("document.querySelector('#slider').max !== '1000'")
	v.keys(kb.Home)
	for told := ""; !strings.HasSuffix(told, "graph.created"); told = wound(v) {
		v.keys(kb.ArrowRight)
	}
	deed(v, ".page-head", "Fork from here", func() { v.write("#act-new_id", "past") })
	v.expression("location.hash.startsWith('#/jobs/past')")
	v.step("go", "planned")
	v.visit("/jobs?q=plan")
	v.visit("/jobs")
	v.read("table.jobs", "past")
	v.click("tr[data-job=past] input", "")
	v.click("tr[data-job=plan] input", "")
	v.click("button", "Compare the two")
	v.read("main", "Two jobs side by side")
	for _, id := range []string{"reject", "change"} {
		s.submit(id, one("invite", "Scribe", "Write the invitation"), nil)
	}
	s.submit("close", one("count", "Person", "How many will come"), nil)
	in := func(job, what string) string { return fmt.Sprintf("article[data-job=%s] %s", job, what) }
	v.visit("/inbox")
	v.write(in("reject", ".verdict textarea"), "no file, no plan")
	v.click(in("reject", "button"), "Reject")
	v.gone(in("reject", "button"))
	v.see(in("change", ".args textarea"))
	eval[bool](v, "(() => { const e = document.querySelector("+quoted(in("change", ".args textarea"))+"); e.value = e.value.replace('eight', 'nine'); e.dispatchEvent(new Event('input', {bubbles: true})); return true; })()")
	v.read(in("change", ".diff-add"), "At nine.")
	v.click(in("change", "button"), "Approve")
	v.gone(in("change", "button"))
	v.click(in("close", "button"), "Close without an answer")
	v.gone(in("close", "button"))
	v.gone(".badge")
	s.finished("reject")
	s.finished("change")
	if text := string(s.download("/jobs/change/artifacts/invite/invitation.md")); text != "At nine." {
		v.Errorf("the file has %q", text)
	}

	v.visit("/submit")
	v.write("#new-goal", "Plan a walk")
	v.click("label.check", "Show me the plan")
	v.click("button[type=submit]", "Submit")
	v.expression("location.hash.startsWith('#/jobs/')")
	v.click("a.ask", "1 open question")
	v.read("article", "walk")
	drawn := "(document.querySelector('article job-graph')?.shown?.subjobs || []).filter((n) => n.state === 'planned' && n.expert).map((n) => n.title || n.id).join()"
	v.expression(drawn + " !== ''")
	v.write("article .verdict textarea", "Plan a longer walk")
	asked := eval[string](v, "document.querySelector('article').dataset.request")
	v.click("article button", "Ask for changes")
	v.expression("(document.querySelector('article')?.dataset.request || " + quoted(asked) + ") !== " + quoted(asked))
	v.expression(drawn + " !== ''")
	v.click("article button", "Accept")
	v.gone("article")
	s.api(http.MethodPost, "/schedules", map[string]any{"id": "daily", "schedule": map[string]any{"daily_time": "03:00"}, "request": map[string]any{"goal": "Every day", "expert": "Person"}}, nil)
	v.visit("/schedules")
	v.click("button", "daily")
	v.click("button", "Run now")
	v.read(".toast", "trigger")
	v.read(".card .care", "A run asks a person, until")
	v.click("button", "Pause")
	v.read(".card .chip", "paused")
	v.click("button", "Resume")
	v.read(".card .chip", "active")
	v.click("button", "Delete")
	v.click("button", "Delete for good")
	v.read("main", "There are no schedules")
	letters(s, v)
	// Send a message to a session, and change the theme.
	s.submit("first", one("menu", "Clerk", "Hello"), map[string]any{"session": "talk"})
	v.visit("/sessions/talk")
	v.read("main", "Hello")
	v.write(".say textarea", "And now?")
	v.click(".say button", "Send")
	v.read(".said", "And now?")
	before := eval[string](v, "document.documentElement.dataset.theme")
	v.click(".side-foot button", "")
	v.expression("document.documentElement.dataset.theme !== " + quoted(before))
}

// deed presses a button of the step or job and sends its form.
func deed(v *view, where, action string, fill func()) {
	v.Helper()
	v.click(where+" [data-action]", action)
	v.see("form.act")
	v.gone("form.act .loading")
	if fill != nil {
		fill()
	}
	v.click("form.act button[type=submit]", "")
	v.gone("form.act")
}

// letters looks at a request that no service could read, and tries it again.
func letters(s *stack, v *view) {
	v.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := musttest.Get(client.Connect(ctx, bus.Options{URL: "nats://" + s.nats}))(v)
	defer c.Close()
	musttest.Do(v, c.Bus().PublishCore(c.Bus().Names().Request(), nil, []byte(hostile)))
	v.visit("/letters")
	v.see(".card .fault")
	v.click(".card button.title", "")
	v.read(".card pre", "alert(1)")
	inert(v, "letters")
	v.click(".card button", "Try again")
	v.see(".toast")
}
