//go:build browser

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// one returns a plan of one step.
func one(id, expert, title string) map[string]any {
	return map[string]any{"title": title, "subjobs": []any{map[string]any{"id": id, "goal": title, "title": title, "expert": expert}}}
}

// asleep hides the page, as a browser does when it is covered, or shows it again.
func asleep(v *view, hidden bool) {
	v.Helper()
	eval[bool](v, fmt.Sprintf("(Object.defineProperty(document, 'hidden', {value: %t, configurable: true}), document.dispatchEvent(new Event('visibilitychange')))", hidden))
}

// finished waits for the end of a job.
func (s *stack) finished(id string) {
	s.Helper()
	s.until(id+" is finished", func() bool {
		var job struct{ Status string }
		s.api(http.MethodGet, "/jobs/"+id, nil, &job)
		return job.Status == "FINISHED"
	})
}

// Files, results, questions, arguments and labels of a stranger are shown and do nothing.
func TestWhatStrangersWroteIsInert(t *testing.T) {
	files := trip()
	files["evil.sh"] = `#!/bin/sh
mkdir -p out
for name in 'page.html' 'a picture.svg' 'notes.md' 'table.csv' '<img src=x onerror=alert(1)>.txt'; do
cat >"out/$name" <<'END'
<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>

# <img src=x onerror=alert(1)>, [x](javascript:alert(1)), ![y](http://example.org/y.png)
END
done
cat <<'END'
"# A result\n\n<script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) ![y](http://example.org/y.png)"
END
`
	files["experts/evil.md"] = "---\nname: Evil\ndescription: Writes what browsers run\nkind: command\nsandbox: none\ncommand: [\"$DIR/evil.sh\"]\n---\n"
	files["model.yaml"] = `answers:
  - when: {contains: [Write the invitation]}
    calls: [{name: write_file, args: '{"path":"<img src=x onerror=alert(1)>","content":"</textarea><script>alert(1)</script>\u202e"}'}]
`
	s := begin(t, files)
	s.open("evil")
	s.submit("evil", map[string]any{"title": hostile, "subjobs": []any{
		map[string]any{"id": "evil", "goal": hostile, "title": hostile, "expert": "Evil"},
		map[string]any{"id": "ask", "goal": hostile, "title": hostile, "expert": "Person"},
		map[string]any{"id": "call", "goal": "Write the invitation", "expert": "Scribe"},
	}}, map[string]any{"labels": map[string]string{"x": hostile}, "session": "talk"})
	v := look(s, desktop, "/jobs/evil")
	v.step("evil", "finished")
	v.step("call", "waiting")
	for path, clicks := range map[string][]string{
		"/jobs": nil, "/jobs/evil": nil, "/jobs/evil?tab=steps": nil, "/jobs/evil?tab=timeline": nil, "/jobs/evil?tab=events": {"job.requested"}, "/jobs/evil?step=ask": nil,
		"/jobs/evil?step=evil": {"Brief", "Output"}, "/jobs/evil?step=call": {"Journal"}, "/inbox": {"The same from a terminal"}, "/sessions/talk": nil,
	} {
		v.visit(path)
		for _, text := range clicks {
			v.click("#app button, #app summary", text)
		}
		v.expression("document.querySelector('#app').innerText.includes('alert(1)') || !!document.querySelector('job-graph, .drawer')")
		inert(v, path)
	}
	v.visit("/jobs/evil?step=evil")
	v.click(".drawer [role=tab]", "Output")
	for _, name := range []string{"page.html", "notes.md", "table.csv", "onerror", "a picture.svg"} {
		v.click(".files button", name)
	}
	v.expression("document.querySelectorAll('.files .preview').length === 5 && !document.querySelector('.loading')")
	inert(v, "previews")
	v.visit("/inbox")
	v.expression(`[...document.querySelectorAll("article textarea")].some((e) => e.value.includes("</textarea><script>alert(1)</script>\\u202e"))`)
}

// A result and a file of 100 MB are shown by their beginnings.
func TestAResultOf100MB(t *testing.T) {
	files := trip()
	files["big.sh"] = `#!/bin/sh
mkdir -p out
head -c 100000000 /dev/zero | tr '\0' x >out/big.md
printf '"'
head -c 100000000 /dev/zero | tr '\0' y
printf '"'
`
	files["experts/big.md"] = "---\nname: Big\ndescription: Writes much\nkind: command\nsandbox: none\nstdout_limit: 200000000\ncommand: [\"$DIR/big.sh\"]\n---\n"
	s := begin(t, files)
	plan := one("big", "Big", "Much")
	plan["subjobs"] = append(plan["subjobs"].([]any), map[string]any{"id": "next", "goal": "Read it", "expert": "Clerk", "dependencies": []string{"big"}})
	s.open("next")
	s.submit("big", plan, nil)
	v := look(s, desktop, "/jobs/big")
	v.step("next", "finished")
	v.visit("/jobs/big?step=big")
	v.click(".drawer [role=tab]", "Output")
	v.read(".drawer", "yyyyyyyy")
	v.click(".files button", "big.md")
	v.read(".preview", "The beginning; the whole has 95.4 MiB")
	v.visit("/jobs/big?step=next")
	v.click(".drawer [role=tab]", "Brief")
	v.read(".drawer", "95.4 MiB, the beginning")
	for _, tab := range []string{"result", "events", "timeline", "graph"} {
		v.visit("/jobs/big?tab=" + tab)
		v.gone(".loading")
	}
	if heap := eval[float64](v, "performance.memory.usedJSHeapSize"); heap > 60<<20 {
		t.Errorf("the page takes %.0f MB", heap/1e6)
	}
}

// A page that was hidden for a day has missed nothing, and says so if its job was deleted and created again meanwhile.
func TestABrowserThatSleeps(t *testing.T) {
	s := begin(t, trip())
	s.submit("trip", one("pack", "Clerk", "Pack"), nil)
	v := look(s, desktop, "/jobs/trip?tab=events")
	v.read(".log", "subjob.started")
	asleep(v, true)
	s.open("pack")
	s.finished("trip")
	asleep(v, false)
	v.read(".job-head", "finished")
	page := struct{ Events []struct{ Seq int } }{}
	s.api(http.MethodGet, "/jobs/trip/events", nil, &page)
	v.read("#app", fmt.Sprintf("%d events", len(page.Events)))

	asleep(v, true)
	s.api(http.MethodDelete, "/jobs/trip", nil, nil)
	s.submit("trip", one("pack", "Clerk", "Pack again"), nil)
	s.finished("trip")
	// The log of the new job begins after the last event that the page has seen.
	asleep(v, false)
	v.read(".job-head h1", "Pack again")
}

// A question that two people have open is answered once, and the second one learns of it.
func TestTwoPeopleAtOneQuestion(t *testing.T) {
	s := begin(t, trip())
	s.submit("ask", one("count", "Person", "How many will come"), nil)
	ann, bob := look(s, desktop, "/inbox"), look(s, desktop, "/inbox")
	for _, v := range []*view{ann, bob} {
		v.write("article input[type=number]", "7")
	}
	asleep(bob, true) // The hidden page does not hear of the answer.
	ann.click("article button[type=submit]", "Answer")
	ann.read("#app", "Nothing waits for you")
	bob.write("article input[type=number]", "8")
	bob.click("article button[type=submit]", "Answer")
	bob.read("article .fault, .toast.bad", "")
	asleep(bob, false)
	bob.read("#app", "Nothing waits for you")
	var log struct {
		Events []struct {
			Kind string
			Data struct{ Answer json.RawMessage }
		}
	}
	s.api(http.MethodGet, "/jobs/ask/events", nil, &log)
	var answers []string
	for _, e := range log.Events {
		if e.Kind == "input.closed" {
			answers = append(answers, string(e.Data.Answer))
		}
	}
	if got := strings.Join(answers, " "); got != `{"guests":7}` {
		t.Errorf("answers: %s", got)
	}
}

// Revoking a token ends the session of a page; another token continues at the same place, with the rights of its roles.
func TestATokenIsRevoked(t *testing.T) {
	files := trip()
	entry := func(user, role string) string {
		return fmt.Sprintf("  - {user: %s, roles: [%s], token: %s-of-the-tests-0123456789abcdef}\n", user, role, user)
	}
	files["tokens.yaml"] = "version: 1\ntokens:\n" + entry("ann", "admin") + entry("bob", "viewer")
	s := begin(t, files)
	s.submit("trip", one("pack", "Clerk", "Pack"), nil)
	v := launch(t, s.http, desktop)
	v.do(chromedp.Navigate("http://" + s.http + "/?token=ann-of-the-tests-0123456789abcdef#/jobs/trip"))
	v.step("pack", "running")
	v.see("[data-action=stop]")
	musttest.Do(t, os.WriteFile(filepath.Join(s.dir, "tokens.yaml"), []byte("version: 1\ntokens:\n"+entry("bob", "viewer")), 0o600))
	v.see("#token")
	s.open("pack")
	s.finished("trip")
	v.write("#token", "bob-of-the-tests-0123456789abcdef")
	v.click("button[type=submit]", "")
	v.step("pack", "finished")
	v.gone("[data-action=fork], [data-action=delete]")
	v.visit("/jobs")
	v.read("table.jobs", "Pack")
	v.gone("a[href='#/submit']")
}

// Ten thousand events that arrive at once all reach the page, which ends up showing the last one.
func TestAFloodOfEvents(t *testing.T) {
	const n = 10_000
	s := begin(t, trip())
	s.submit("flood", one("pack", "Clerk", "Pack"), nil)
	v := look(s, desktop, "/jobs/flood")
	v.step("pack", "running")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := musttest.Get(client.Connect(ctx, bus.Options{URL: "nats://" + s.nats}))(t)
	defer c.Close()
	list := make([]events.Message, n)
	for i := range list {
		list[i] = musttest.Get(events.Encode(c.Bus().Names(), events.Event{
			Kind: events.KindSubJobProgressed, ID: fmt.Sprintf("flood-%d", i), Job: "flood", SubJob: "pack", Run: 1, Source: "test", Data: &events.SubJobProgressed{Done: i + 1, Total: n},
		}))(t)
	}
	for _, err := range c.Bus().PublishAll(ctx, list, bus.Expect{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	v.expression(fmt.Sprintf("document.querySelector('job-graph').shown.subjobs[0].progress?.done === %d", n))
	v.visit("/jobs/flood?tab=events")
	var log struct {
		Events []struct{}
		More   bool
	}
	s.api(http.MethodGet, "/jobs/flood/events", nil, &log)
	v.expression(fmt.Sprintf("Number(/(\\d+) events/.exec(document.querySelector('#app').innerText)?.[1]) >= %d", n+3))
	s.open("pack")
	v.read(".job-head", "finished")
}
