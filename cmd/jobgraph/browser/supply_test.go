//go:build browser

package browser

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// A pool without its worker, a model at its limits and budgets that are nearly spent are shown on their tabs, and summed up above
// all tabs.
func TestWhatWorkNeeds(t *testing.T) {
	files := trip()
	files["model.yaml"] = `answers:
  - when: {model: scripted-fast}
    text: '{"title":"A walk","subjobs":[{"id":"walk","goal":"Walk","title":"Walk","completion_criteria":"done","expert":"Clerk"}]}'
    usage: {prompt: 350, completion: 250}
`
	files["jobgraph.yaml"] = `version: 1
budgets:
  job: {tokens: 50000}
  session: {tokens: 40000}
  day: {cost_usd: 1}
models:
  fast:
    model: scripted-fast
    base_url: http://127.0.0.1:9/v1
    price: {prompt: 1000, completion: 2000}
    limits: {requests_per_minute: 1}
    fallback: [deep]
  deep:
    base_url: http://127.0.0.1:9/v1
`
	s := begin(t, files)
	far := s.runner("far")
	v := look(s, desktop, "/experts")

	// Nothing needs attention yet.
	v.read(".expert", "Travel")
	v.visit("/experts?tab=pools")
	v.read("tr[data-row=far]", "has workers")
	v.visit("/experts?tab=models")
	v.read("tr[data-row=fast]", "has room")
	v.read("tr[data-row=fast]", "$1000.00")
	v.read("tr[data-row=fast]", "1 of 1 requests a minute")
	v.read("tr[data-row=deep]", "no limit")
	v.visit("/experts?tab=budgets")
	v.read("tr[data-row='each job']", "50.0k tokens")
	v.read("tr[data-row=day]", "nothing")
	v.read("tr[data-row=day]", "in ")
	v.gone(".care li")

	// One plan uses up the request of this minute and most of the day's money: 0.35 + 0.50.
	s.api(http.MethodPost, "/jobs", map[string]any{"id": "walk", "goal": "Plan a walk", "session": "talk", "models": map[string]string{"planner": "fast"}, "finalize": "none"}, nil)
	v.read(".care", "The budget of the day is nearly spent: it renews in")
	v.read("tr[data-row=day]", "tokens · $0.85")
	v.read("tr[data-row=day]", "$0.15")
	v.see("tr[data-row=day] [aria-label='85 % spent']")
	v.read(".care", "Model fast has no room: the requests of the minute are used up")
	v.visit("/experts?tab=models")
	v.read("tr[data-row=fast]", "0 of 1 requests a minute")

	// Work for a pool whose only runner is gone.
	end(far)
	s.submit("trip", one("drive", "Travel", "Book the bus"), nil)
	v.read(".care", "Pool far has no worker and 1 waits: start a runner with --pools far")
	// Go through the tabs, asks for the budgets of a session and returns to the pools, without a mouse.
	v.keys("/")
	v.expression("document.activeElement.id === 'search'")
	v.keys("Book")
	v.read(".tab-body", "Travel")
	v.expression("document.querySelectorAll('.expert').length === 1")
	v.visit("/experts?tab=budgets")
	v.tabTo("[role=tab]", "Budgets")
	v.keys(kb.ArrowRight)
	v.expression("document.activeElement.id === 'tab-experts'")
	v.keys(kb.ArrowLeft)
	v.expression("document.activeElement.id === 'tab-budgets'")
	v.tabTo("select", "")
	v.keys("S")
	v.tabTo("#budget-of", "")
	v.keys("talk")
	eval[bool](v, "(window.drawn = false, dispatchEvent(new HashChangeEvent('hashchange')), requestAnimationFrame(() => requestAnimationFrame(() => (window.drawn = true))), true)")
	v.expression("window.drawn") // Text that was not sent yet must survive.
	v.keys(kb.Enter)
	v.read("tr[data-row='session talk']", "$0.85")
	v.tabTo("[role=tab]", "Budgets")
	v.keys(kb.ArrowLeft, kb.ArrowLeft)
	v.expression("document.activeElement.id === 'tab-pools'")
	v.read("tr[data-row=far]", "no worker")
	picture(v, "supply")

	// Ask for a job that does not exist, and for the command at a terminal.
	v.visit("/experts?tab=budgets&job=none")
	v.read(".fault", "no job none")
	v.visit("/experts?tab=budgets&job=walk")
	v.read("tr[data-row='job walk']", "$0.85")
	v.read("tr[data-row='session talk']", "40.0k tokens")
	v.click("summary", "The same from a terminal")
	v.read(".copyable", "jobgraph budgets walk")
	v.read(".copyable", `nats req jobs.api.budgets '{"id":"walk"}'`)
	v.visit("/jobs/walk")
	v.click(".facts a", "$0.85")
	v.read("tr[data-row='job walk']", "$0.85")

	onAPhone(s)
	s.runner("far")
	s.open("drive")
	s.finished("trip")
	v.visit("/experts?tab=pools")
	v.read("tr[data-row=far]", "has workers")
	v.expression("![...document.querySelectorAll('.care')].some((e) => e.innerText.includes('Pool far'))")
}

// onAPhone checks that each tab fits a phone.
func onAPhone(s *stack) {
	s.Helper()
	v := look(s, phone, "/experts?tab=pools")
	for _, tab := range []string{"pools", "models", "budgets&job=walk", "experts"} {
		v.visit("/experts?tab=" + tab)
		v.gone(".loading")
		v.see("[role=tabpanel] tr, [role=tabpanel] .expert")
		if over := eval[int](v, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			s.Errorf("%s is %d pixels wider than the phone", tab, over)
		}
	}
	v.visit("/experts?tab=budgets&job=walk")
	v.read("tr[data-row='job walk']", "$0.85")
	picture(v, "phone-supply")
}
