//go:build browser

package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// trip returns the files of a stack whose job has every kind of step: a program, a person with a form, an agent whose write needs
// approval, and work for a separate runner.
func trip() map[string]string {
	gate := `#!/bin/sh
goal=$(grep -o '"goal": *"[^"]*"' | head -n 1 | cut -d '"' -f 4)
echo "looking at: $goal" >&2
while [ ! -e "$DIR/gate-$JOBGRAPH_SUBJOB" ]; do sleep 0.1; done
echo "\"$goal: done\""
`
	return map[string]string{
		"gate.sh":           gate,
		"experts/clerk.md":  "---\nname: Clerk\ndescription: Does what a file lets it do\nkind: command\nsandbox: none\ncommand: [\"$DIR/gate.sh\"]\n---\n",
		"experts/person.md": "---\nname: Person\ndescription: Knows how many will come\nkind: human\noutput_schema: {type: object, required: [guests], properties: {guests: {type: integer, minimum: 1, title: Guests}, note: {type: string}}}\n---\nHow many will come?\n",
		"experts/scribe.md": "---\nname: Scribe\ndescription: Writes the invitation\nkind: llm\ntools: [write_file]\npolicies:\n  - {tool: write_file, action: ask, reason: Invitations are looked at first.}\n---\nYou write invitations.\n",
		"far/far.md":        "---\nname: Travel\ndescription: Books buses and trains\nkind: command\npool: far\nsandbox: none\ncommand: [\"$DIR/gate.sh\"]\n---\n",
		"model.yaml": `answers:
  - when: {result: wrote}
    text: "The invitation is written.\n<deliverable>**Come** at eight.</deliverable>"
  - when: {contains: [Write the invitation]}
    calls: [{name: write_file, args: '{"path":"invitation.md","content":"# Summer party\n\nAt eight, by the lake.\n"}'}]
`,
	}
}

// tripPlan is the plan of that job.
func tripPlan() map[string]any {
	step := func(id, expert, title string, after ...string) map[string]any {
		return map[string]any{"id": id, "goal": title, "title": title, "expert": expert, "dependencies": after}
	}
	return map[string]any{"title": "Summer party", "subjobs": []any{
		step("find", "Clerk", "Find a place by the lake"),
		step("count", "Person", "How many will come"),
		step("pack", "Clerk", "Draw up the budget", "find"),
		step("invite", "Scribe", "Write the invitation", "count"),
		step("drive", "Travel", "Book the bus", "pack"),
		step("menu", "Clerk", "Choose the menu", "pack", "count"),
		step("party", "Clerk", "Hand over the plan", "invite", "drive", "menu"),
	}}
}

// A person submits a job, watches it, answers, approves, loses a runner and the gateway, winds back, forks, compares and exports it.
//
// proves C40
func TestTheFirstSession(t *testing.T) {
	s := begin(t, trip())
	far := s.runner("far")
	s.open("find", "menu")
	v := look(s, desktop, "/jobs")
	v.read("main", "There are no jobs yet")

	// Submit a plan.
	v.click("a", "New job")
	v.write("#new-goal", "A summer party for the team")
	v.click("summary", "More")
	v.write("#new-id", "party")
	v.click("summary", "A plan of your own")
	eval[bool](v, "(() => { const e = document.querySelector('#new-plan'); e.value = JSON.stringify("+quotedJSON(tripPlan())+"); e.dispatchEvent(new Event('input', {bubbles: true})); return true; })()")
	v.click("button[type=submit]", "Submit")

	// Watch it begin.
	const job = "party"
	v.expression("location.hash === '#/jobs/party'")
	v.step("pack", "running")
	v.step("drive", "planned")

	// Answer the form.
	v.visit("/inbox?job=" + job)
	v.write("article input[type=number]", "7")
	v.click("article button[type=submit]", "Answer")
	v.read(".toast", "answered")

	// Approve the write of the agent, with its exact arguments in sight.
	v.expression("[...document.querySelectorAll('article textarea')].some((e) => e.value.includes('invitation.md'))")
	picture(v, "approval")
	v.visit("/jobs/" + job + "?step=invite")
	v.step("invite", "waiting")
	v.click(".drawer [role=tab]", "Journal")
	v.read(".drawer", "model")
	picture(v, "running")
	shade(v, "dark")
	picture(v, "running-dark")
	shade(v, "light")
	v.visit("/inbox")
	v.click("article button", "Approve")
	v.visit("/jobs/" + job)
	v.step("invite", "finished")

	// Kill the runner of a step, and see another one resume it.
	s.open("pack")
	v.step("drive", "running")
	end(far)
	s.open("drive")
	s.runner("far")
	v.step("drive", "finished")

	// Kill the gateway; the page has to continue.
	s.kill()
	v.read("body", "No connection")
	s.start()
	v.gone(".banner")
	s.open("party")
	v.step("party", "finished")
	v.read(".job-head", "finished")

	// Wind back to the time before any work was done.
	eval[bool](v, "(document.querySelector('#slider').focus(), true)")
	v.expression("document.querySelector('#slider').max > 10")
	v.keys(kb.Home)
	on := func(event string) { // Moves forward event by event, until one of this kind.
		for told := ""; !strings.HasSuffix(told, event); {
			v.keys(kb.ArrowRight)
			told = wound(v)
		}
	}
	on("graph.created")
	v.step("find", "ready")
	v.step("party", "planned")
	on("input.requested")
	on("input.requested")
	v.step("invite", "waiting")
	v.step("drive", "planned")
	picture(v, "past")
	v.click(".slider button", "To the end")
	v.step("party", "finished")

	// Look at a step and what it did.
	v.visit("/jobs/" + job + "?step=invite")
	v.click(".drawer [role=tab]", "Journal")
	v.read(".drawer", "write_file")
	picture(v, "step")

	// Fork from a step, and compare.
	v.visit("/jobs/" + job + "?step=party")
	v.click(".drawer[data-step=party] .actions button", "Fork from here")
	v.write("#act-new_id", "again")
	v.write("#act-prompt", "Hand over the plan on paper")
	v.click("form.act button[type=submit]", "Fork")
	v.expression("location.hash.startsWith('#/jobs/again')")
	v.step("party", "finished")
	v.visit("/compare/" + job + "/again")
	v.expression("document.querySelectorAll('job-graph').length === 2")
	v.read("main .diff-add", "on paper")
	picture(v, "compare")

	// An export, wound back without the server.
	path := filepath.Join(s.dir, "trip.jsonl")
	musttest.Do(t, os.WriteFile(path, s.download("/jobs/"+job+"/export"), 0o600))
	v.visit("/open")
	v.see("#file")
	s.kill()
	v.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{path}))
	v.read(".job-head", "from a file")
	v.step("party", "finished")
	eval[bool](v, "(() => { const e = document.querySelector('#slider'); e.value = 0; e.dispatchEvent(new Event('input', {bubbles: true})); return true; })()")
	v.gone(".s-finished")
}

// wound returns the event to which the slider is set, once the page shows it.
func wound(v *view) string {
	v.Helper()
	v.expression("document.querySelector('#slider').getAttribute('aria-valuetext').startsWith(`event ${Number(document.querySelector('#slider').value) + 1} of`)")
	return eval[string](v, "document.querySelector('#slider').getAttribute('aria-valuetext')")
}
