//go:build sweep

package endtoend

import (
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
)

// errand is a reference job of agents.
type errand struct {
	name string
	// keys are the keys of the agent's card, besides name and kind.
	keys string
	// steps are the SubJobs of the job.
	steps []events.SubJob
	// says is the model: its answer depends on the question alone.
	says func(q *llmtest.Question) llmtest.Answer
	// people are the answers to requests, by kind or by question.
	people map[string]string
	// wide is how many calls are in flight at once; 0 means 1.
	wide   int
	end    events.Status
	limits events.Limits
	split  func(w *events.Work) *events.Plan
}

func agentStep(id, goal string, deps ...string) events.SubJob {
	return events.SubJob{ID: id, Goal: goal, Expert: "agent", Dependencies: deps}
}

// turns returns how often the model has spoken in a conversation.
func turns(q *llmtest.Question) (n int) {
	for _, t := range q.Turns {
		if t.Role == "assistant" {
			n++
		}
	}
	return n
}

func words(text string) llmtest.Answer { return llmtest.Answer{Text: text, Usage: usage()} }

func usage() *llmtest.Usage { return &llmtest.Usage{Prompt: 100, Completion: 10} }

func uses(calls ...llmtest.Call) llmtest.Answer { return llmtest.Answer{Calls: calls, Usage: usage()} }

func call(name, args string) llmtest.Call { return llmtest.Call{Name: name, Args: args} }

// first returns the answers in order, repeating the last one, with "{tool}" replaced by the latest result of a tool.
func first(list ...llmtest.Answer) func(q *llmtest.Question) llmtest.Answer {
	return func(q *llmtest.Question) llmtest.Answer {
		a := list[min(turns(q), len(list)-1)]
		a.Text = strings.ReplaceAll(a.Text, "{tool}", q.Last("tool"))
		return a
	}
}

const files = "tools: [read_file, write_file, list_files]\n"

// forked is a workflow with a join.
const forked = "workflow:\n- {id: begin, instruction: Begin.}\n- {id: look, instruction: Look., tools: [fetch]}\n" +
	"- {id: end, instruction: End., after: [begin, look], tools: [read_file]}\n"

// errands are the reference jobs. Addresses of pages begin with $SHOP.
func errands() []errand {
	write, read := call("write_file", `{"path":"a.txt","content":"forty-two"}`), call("read_file", `{"path":"a.txt"}`)
	page := func(name string) llmtest.Call { return call("fetch", fmt.Sprintf(`{"url":"$SHOP/page/%s"}`, name)) }
	one := []events.SubJob{agentStep("a", "Do it.")}
	pay := func(expert string) []events.SubJob {
		return []events.SubJob{agentStep("a", "Choose."), {ID: "pay", Goal: "Pay it.", Expert: expert, Dependencies: []string{"a"}}, agentStep("b", "Say thanks.", "pay")}
	}
	none := 0
	return []errand{
		{name: "an answer in words", steps: one, says: first(words("It is done."))},
		{name: "a stream with thoughts", steps: one, says: first(llmtest.Answer{Reasoning: "hm, hm", Text: strings.Repeat("word ", 200), Chunk: 40, Usage: usage()})},
		{name: "one tool", keys: files, steps: one, says: first(uses(write), words("{tool}"))},
		{name: "tools one after another", keys: files, steps: one, says: first(uses(write), uses(read), uses(call("list_files", "{}")), words("{tool}"))},
		{name: "parallel tools", keys: "tools: [fetch]\n", steps: one, wide: 3, says: first(uses(page("x"), page("y"), page("z")), words("{tool}"))},
		{name: "parallel tools of every kind", keys: "tools: [fetch, read_file, write_file]\n", steps: one, wide: 2, says: first(uses(page("x"), write, read, call("fly", "{}"), call("fetch", "bad"), page("y")), words("done"))},
		{
			name: "plans of its own", keys: "tools: [planning]\n", steps: one,
			says: first(
				uses(call("planning", `{"command":"create","plan_id":"p","title":"Plan","steps":["One","Two"]}`)),
				uses(call("planning", `{"command":"mark_step","step_index":1,"step_status":"completed"}`)), uses(call("planning", `{"command":"get"}`)), words("{tool}"),
			),
		},
		{name: "tools as text", keys: files, steps: one, says: first(words(`<function_call>{"name":"write_file","args":{"path":"b","content":"c"}}</function_call>`), words("{tool}"))},
		{name: "a required tool", keys: files + "required_tools: [list_files]\n", steps: one, says: first(words("I know it."), uses(call("list_files", "{}")), words("{tool}"))},
		{name: "a question to a person", keys: "tools: [ask_person]\n", steps: one, says: first(uses(call("ask_person", `{"question":"Which?"}`)), words("{tool}")), people: map[string]string{"Which?": `"blue"`}},
		{
			name: "two questions and a tool at once", keys: "tools: [ask_person, fetch]\n", steps: one,
			says:   first(uses(page("x"), call("ask_person", `{"question":"Which?"}`), call("ask_person", `{"question":"When?"}`)), words("{tool}")),
			people: map[string]string{"Which?": `"blue"`, "When?": `"now"`},
		},
		{name: "an approval", keys: "tools: [fetch]\npolicies: [{action: ask, tool: fetch}]\n", steps: one, says: first(uses(page("x")), words("{tool}"))},
		{
			name: "an approval that is edited", keys: "tools: [fetch]\npolicies: [{action: ask, tool: fetch}]\n", steps: one, says: first(uses(page("x")), words("{tool}")),
			people: map[string]string{"approval": `{"approved":true,"args":{"url":"$SHOP/page/y"}}`},
		},
		{
			name: "an approval that is refused", keys: "tools: [fetch]\npolicies: [{action: ask, tool: fetch}]\n", steps: one, says: first(uses(page("x")), words("so be it")),
			people: map[string]string{"approval": `{"approved":false,"reason":"not today"}`},
		},
		{name: "a form that is repaired", keys: "output_schema: {type: object, required: [n], properties: {n: {type: integer}}}\n", steps: one, says: first(words(`{"n":"x"}`), words(`{"n":42}`))},
		{name: "a budget that ends in a summary", keys: files + "max_turns: 2\non_budget: summary\n", steps: one, says: first(uses(write), uses(read), words("So far: 42."))},
		{name: "a budget that ends in a failure", keys: files + "max_turns: 1\n", steps: one, says: first(uses(write)), end: events.Failed, limits: events.Limits{Retries: &none}},
		{name: "a model that repeats itself", keys: files, steps: one, says: first(uses(read)), end: events.Failed, limits: events.Limits{Retries: &none}},
		{
			name: "a thinker and an actor", keys: files + "reasoning: dual\n", steps: one,
			says: func(q *llmtest.Question) llmtest.Answer {
				if strings.Contains(q.All(), "you are the thinker") {
					return words("Step " + fmt.Sprint(turns(q)+1) + ".")
				}
				return first(uses(write), uses(read), words("<deliverable>{tool}</deliverable>"))(q)
			},
		},
		{
			name: "a workflow of steps", keys: "tools: [fetch, read_file, write_file]\n" + forked, steps: one, wide: 2,
			says: func(q *llmtest.Question) llmtest.Answer {
				switch {
				case strings.Contains(q.All(), "Begin."):
					return first(uses(write), words("begun"))(q)
				case strings.Contains(q.All(), "Look."):
					return first(uses(page("x"), page("y")), words("looked: {tool}"))(q)
				}
				return first(uses(read), words("{tool} of "+fmt.Sprint(strings.Count(q.All(), `<data kind="step"`))))(q)
			},
		},
		{
			name: "a result that is evaluated and made again", keys: files + "evaluator: true\n", steps: one, limits: events.Limits{RetryDelay: ms(20)},
			says: func(q *llmtest.Question) llmtest.Answer {
				switch {
				case !strings.Contains(q.All(), "You judge the result"):
					return first(uses(write), words("{tool}, as learned "+fmt.Sprint(strings.Count(q.All(), `<data kind="lesson"`))))(q)
				case strings.Contains(q.All(), "as learned 1"):
					return words(`{"status":"SUCCESS","evaluation":"good","lesson":""}`)
				case turns(q) == 0:
					return words("It is bad.")
				}
				return words(`{"status":"SUCCESS, EXECUTION_ERROR","evaluation":"It is bad.","lesson":"Do better."}`)
			},
		},
		{
			name: "an evaluator who sends the work back", keys: "evaluator: true\n", steps: []events.SubJob{agentStep("a", "Draw a map."), agentStep("b", "Find the way.", "a")},
			says: func(q *llmtest.Question) llmtest.Answer {
				all := q.All()
				learned := strings.Contains(all, "The map is torn.") || strings.Contains(all, "a whole map")
				switch judges := strings.Contains(all, "You judge the result"); {
				case judges && strings.Contains(all, "Find the way.") && !learned:
					return words(`{"status":"INPUT_DATA_ERROR","evaluation":"The map is torn.","lesson":"Draw it whole."}`)
				case judges:
					return words(`{"status":"SUCCESS","evaluation":"good","lesson":""}`)
				case strings.Contains(all, "Draw a map.") && !learned:
					return words("a torn map")
				case strings.Contains(all, "Draw a map."):
					return words("a whole map")
				}
				return words("found on " + map[bool]string{false: "a torn map", true: "a whole map"}[strings.Contains(all, "a whole map")])
			},
		},
		{
			name: "an attempt that fails and another one", keys: files + "  \n", steps: one, limits: events.Limits{RetryDelay: ms(20)},
			says: func(q *llmtest.Question) llmtest.Answer {
				if strings.Contains(q.All(), `<data kind="lesson"`) {
					return words("better")
				}
				return words("")
			},
		},
		{
			name: "agents that hand on", keys: files, steps: []events.SubJob{agentStep("a", "First."), agentStep("b", "Second.", "a"), agentStep("c", "Third.", "b")},
			says: func(q *llmtest.Question) llmtest.Answer {
				_, before, _ := strings.Cut(q.All(), "name=\"")
				return first(uses(write), words("{tool} after "+strings.SplitN(before+"\n\n", "\n", 3)[1]))(q)
			},
		},
		{
			name: "agents side by side", keys: "tools: [fetch]\n", wide: 3,
			steps: []events.SubJob{agentStep("a", "Page x."), agentStep("b", "Page y."), agentStep("c", "Page z."), agentStep("d", "Join.", "a", "b", "c")},
			says: func(q *llmtest.Question) llmtest.Answer {
				_, goal, _ := strings.Cut(q.All(), "Page ") // The step's goal precedes those of its neighbours.
				if at := strings.Index(q.All(), "Join."); at >= 0 && at < strings.Index(q.All(), "Page ") {
					return words("joined")
				}
				return first(uses(page(goal[:1])), words("{tool}"))(q)
			},
		},
		{
			name: "an agent whose work is split", keys: "tools: [terminate]\n", steps: one,
			split: func(*events.Work) *events.Plan {
				x, y := agentStep("x", "Half one."), agentStep("y", "Half two.", "x")
				x.Pool, y.Pool = events.DefaultPool, events.DefaultPool
				return &events.Plan{SubJobs: []events.SubJob{x, y}}
			},
			says: func(q *llmtest.Question) llmtest.Answer {
				if strings.Contains(q.All(), "Half ") {
					return words("half")
				}
				return uses(call("terminate", `{"status":"too_complicated","reason":"two halves"}`))
			},
		},
		{name: "a payment with a hook", steps: pay("teller"), says: first(words("chosen"))},
		{name: "a payment that a person looks after", steps: pay("cashier"), says: first(words("chosen"))},
	}
}

// cardsOf returns the cards of an errand, by file.
func (c *errand) cardsOf(shop string) map[string]string {
	pay := "kind: http\nurl: " + shop + "/pay/{inputs.order}\n"
	return map[string]string{
		"agent.md":   "---\nname: Agent\nkind: llm\nallow_addresses: [127.0.0.1]\n" + c.keys + "---\nYou are careful.\n",
		"teller.md":  "---\nname: Teller\n" + pay + "reconcile: {url: " + shop + "/did}\n---\n",
		"cashier.md": "---\nname: Cashier\n" + pay + "---\n",
	}
}
