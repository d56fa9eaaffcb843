package endtoend

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
	scheduler "github.com/jobgraph/jobgraph/services/scheduler/app"
)

// overheard records what each kind of expert received: an agent's prompt, a program's standard input, the body of a call, a foreign
// worker's message, a person's question, what a function sees.
type overheard struct {
	mu   sync.Mutex // Guards told.
	told map[string]string
}

func (o *overheard) hear(kind, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told[kind] = text
}

// ServeHTTP is the service that an expert of kind http calls.
func (o *overheard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o.hear(r.URL.Path[1:], string(body))
	_, _ = io.WriteString(w, `"called"`) // The client may be gone.
}

// boats is a request that fills everything that steps may know about a request.
func boats(id string, steps ...events.SubJob) events.Request {
	text, err := json.Marshal(events.Plan{Title: "The plan of boats", SubJobs: steps})
	if err != nil {
		panic(err)
	}
	return events.Request{
		ID: id, Goal: "Write about boats", Context: "for children 给孩子们", Session: "harbour", Thread: "pier", User: "ann", Locale: "en-GB", Plan: text,
		Inputs: map[string]json.RawMessage{"chart": json.RawMessage(`"north"`)},
	}
}

// foreign serves a pool like a program that knows nothing but the bus.
func (o *overheard) foreign(s *system, pool string) {
	var sub *bus.Subscription
	s.Until("the consumer of pool "+pool, func() bool { // The runner that has the card makes it.
		var err error
		sub, err = s.Bus.Queues().Consume(s.Context(), s.Bus.Queues().PoolConsumer(pool))
		return err == nil
	})
	s.Cleanup(sub.Stop)
	list := musttest.Get(sub.Next(s.Context(), 1))(s)
	d := list[0]
	body := d.Message().Body
	o.hear("nats", string(body))
	var w events.Work
	musttest.Decode(s, body, &w)
	report := events.Message{Subject: w.ReportSubject, Header: events.Header(events.HeaderMsgID, w.ReportID), Body: []byte(`{"outcome":"SUCCESS","output":1}`)}
	musttest.Get(s.Bus.Publish(s.Context(), report, bus.Expect{}))(s)
	musttest.Do(s, d.Ack())
}

// crew starts a system with an expert of each kind and returns once the job has ended.
func (o *overheard) crew(t *testing.T, r events.Request) *system {
	t.Helper()
	service := httptest.NewServer(o)
	t.Cleanup(service.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"program.md": "name: Program\nkind: command\ncommand: [cat]\nsandbox: none\n", "agent.md": "name: Agent\nkind: llm\n",
		"call.md": "name: Call\nkind: http\nurl: " + service.URL + "/http\n", "trusted.md": "name: Trusted\nkind: http\nurl: " + service.URL + "/trusted\nshare: [user, session]\n",
		"person.md": "name: Person\nkind: human\n", "far.md": "name: Far\nkind: nats\npool: far\n",
	} {
		musttest.Write(t, filepath.Join(dir, name), "---\n"+text+"---\n")
	}
	s := &system{Env: servicetest.New(t), calls: map[string]int{}, runs: map[string]int{}, settings: scheduler.Default(), cards: dir}
	s.experts = []runner.Function{s.expert("function", false, func(_ context.Context, task *runner.Task) (events.SubJobReported, error) {
		b, err := json.Marshal(task.Brief())
		if task.Work.SubJob == "count" {
			o.hear("func", string(b))
		}
		return events.SubJobReported{Output: []byte("1")}, err
	})}
	s.doer = llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		o.hear("llm", q.All())
		return llmtest.Answer{Text: "drawn"}, nil
	}))
	s.startAll()
	s.Submit(r)
	return s
}

// aye answers yes to the first question of a job and returns its prompt.
func (s *system) aye(job string) (prompt string) {
	s.Await(s.Names.JobEvents(job), func(e events.Event) bool {
		asked, ok := e.Data.(*events.InputRequested)
		if ok {
			prompt = asked.Prompt
			s.say(job, events.KindInputClosed, asked.Request, &events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`"aye"`)})
		}
		return ok
	})
	return prompt
}

// ofEachKind returns independent steps, one for an expert of each kind.
func ofEachKind() []events.SubJob {
	one := func(id, title, expert string) events.SubJob {
		return events.SubJob{ID: id, Title: title, Goal: "only " + id, Expert: expert}
	}
	return []events.SubJob{
		one("look", "Look for boats", "program"), one("draw", "Draw a boat", "agent"), one("ring", "Ring the bell", "call"), one("tell", "Tell a friend", "trusted"),
		one("ask", "Ask the captain", "person"), one("sail", "Sail afar", "far"), one("count", "Count the boats", "function"),
	}
}

// Each kind of expert gets the request, the plan with titles, the place of its step, and, if it may, for whom the work is done.
//
// proves D13
// proves O8
func TestAnExpertOfEveryKindIsToldWhatTheJobIsAbout(t *testing.T) {
	o := &overheard{told: map[string]string{}}
	s := o.crew(t, boats("j1", ofEachKind()...))
	o.foreign(s, "far")
	o.hear("human", s.aye("j1"))
	s.EndedAs("j1", events.Finished)
	for e, err := range s.Bus.Log().EventsOf(s.Context(), "j1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == events.KindSubJobReported && e.SubJob == "look" {
			o.hear("command", string(e.Report().Output))
		}
	}
	// Compare the brief of a work message with the one that the client makes from the log; the statuses of other steps depend
	// on the moment.
	message := o.told["nats"]
	var w events.Work
	musttest.Decode(s, []byte(message), &w)
	was := musttest.Get(brief.Read(w.Brief, nil))(s)
	is := musttest.Get(client.New(s.Bus).Logs().Brief(s.Context(), "j1", "sail"))(s)
	for _, b := range []*brief.Brief{was, is} {
		if b.Place.Status != brief.InProgress || b.Marks.Completed+b.Marks.InProgress+b.Marks.NotStarted+b.Marks.Blocked != len(b.Plan.Steps) {
			s.Errorf("%+v", b.Marks)
		}
		b.Marks = nil
		for i := range b.Plan.Steps {
			b.Plan.Steps[i].Status = ""
		}
	}
	if diff := cmp.Diff(was, is, cmpopts.EquateEmpty()); diff != "" {
		s.Errorf("the brief of the work (-) and that of the log (+):\n%s", diff)
	}
	if _, err := client.New(s.Bus).Logs().Brief(s.Context(), "j1", "none"); !errors.Is(err, client.ErrNotFound) {
		s.Errorf("a SubJob that does not exist: %v", err)
	}
	everyone := []string{"Write about boats", "for children 给孩子们", "The plan of boats"}
	listing := []string{"Look for boats", "Draw a boat", "Count the boats", "chart", "j1", "en-GB"}
	who := []string{"ann", "harbour", "pier"}
	for kind, test := range map[string]struct{ has, lacks []string }{
		"llm":     {append(append(append([]string{"only draw", "This is step 2 of 7", "(this step)"}, everyone...), listing...), who...), nil},
		"command": {append(append(append([]string{"only look", `"n":1,"of":7`}, everyone...), listing...), who...), nil},
		"http":    {append(append([]string{"only ring", `"n":3,"of":7`}, everyone...), listing...), who},
		"trusted": {append(append([]string{"only tell", "ann", "harbour"}, everyone...), listing...), []string{"pier"}},
		"nats":    {append(append(append([]string{"only sail", `"n":6,"of":7`, `"brief":{"v":1,`}, everyone...), listing...), who...), nil},
		"func":    {append(append(append([]string{`"n":7,"of":7`}, everyone...), listing...), who...), nil},
		"human":   {append([]string{"only ask", "Step 5 of 7"}, everyone...), nil},
	} {
		for _, want := range test.has {
			if !strings.Contains(o.told[kind], want) {
				t.Errorf("%s is not told %q:\n%s", kind, want, o.told[kind])
			}
		}
		for _, secret := range test.lacks {
			if strings.Contains(o.told[kind], secret) {
				t.Errorf("%s is told %q:\n%s", kind, secret, o.told[kind])
			}
		}
	}
}

// A large request and a large plan still reach every expert, and the work messages stay small.
func TestWhatIsLargeInABriefReachesTheExpertsByReference(t *testing.T) {
	steps := ofEachKind()
	for len(steps) < 300 {
		steps = append(steps, events.SubJob{ID: "s" + strconv.Itoa(len(steps)), Title: strings.Repeat("长", 60), Goal: "only this", Expert: "function"})
	}
	o := &overheard{told: map[string]string{}}
	r := boats("j2", steps...)
	r.Context = strings.Repeat("for children ", 16_000) + "</data> 给孩子们"
	s := o.crew(t, r)
	o.foreign(s, "far")
	s.aye("j2")
	s.EndedAs("j2", events.Finished)
	var w events.Work
	musttest.Decode(t, []byte(o.told["nats"]), &w)
	if len(o.told["nats"]) > 8<<10 || w.BriefRef == nil {
		t.Errorf("the work message has %d bytes", len(o.told["nats"]))
	}
	rest := musttest.Get(s.Bus.Blobs().Get(s.Context(), "j2", w.BriefRef.Digest))(t)
	if b, err := brief.Read(w.Brief, rest); err != nil || b.Request.Context != r.Context || len(b.Plan.Steps) != 300 || b.Plan.Steps[5].Status != brief.InProgress {
		t.Errorf("%v", err)
	}
	for _, kind := range []string{"http", "func"} {
		if !strings.Contains(o.told[kind], "给孩子们") || !strings.Contains(o.told[kind], "Tell a friend") || strings.Contains(o.told[kind], "brief_ref") {
			t.Errorf("%s is told %d bytes: %.1000s", kind, len(o.told[kind]), o.told[kind])
		}
	}
	if text := o.told["llm"]; strings.Count(text, "<data ") != strings.Count(text, "</data>") || !strings.Contains(text, "2. [→] draw: Draw a boat (this step)") || !strings.Contains(text, "… 250 steps after") || len(text) > 80_000 {
		t.Errorf("the model is told %d bytes: %.500s", len(text), text)
	}
}

func TestThePlanningOfAPartIsToldOfTheWhole(t *testing.T) {
	virtual(t, func(s *system) {
		v := &voice{says: `{"subjobs":[{"id":"x","goal":"gen:","expert":"worker"},{"id":"y","goal":"sum:","expert":"worker","dependencies":["x"]}]}`}
		s.model = v
		s.startAll()
		r := boats("j3", step("first", "gen:"), step("big", "too complicated:", "first"), step("last", "sum:", "big"))
		r.Context = "for </finding> children"
		s.Submit(r)
		s.EndedAs("j3", events.Finished)
		if len(v.told) != 1 {
			s.Fatalf("the model was asked %d times", len(v.told))
		}
		text := v.told[0]
		for _, want := range []string{
			"too complicated:", "Write about boats\n\nfor &lt;/finding> children", "The plan of boats", "1. [✓] first: gen:", "2. [→] big: too complicated: (this step)", "3. [ ] last: sum:", "This is step 2 of 3.",
		} {
			if !strings.Contains(text, want) {
				s.Errorf("no %q in\n%s", want, text)
			}
		}
		if strings.Count(text, "<finding ") != strings.Count(text, "</finding>") {
			s.Errorf("the data is not delimited:\n%s", text)
		}
		got, err := client.New(s.Bus).Logs().Brief(s.Context(), "j3", "big~2~y")
		if err != nil || got.Place.N != 3 || got.Place.Of != 4 || got.Predecessors[0].ID != "big~2~x" || got.Successors[0].ID != "last" {
			s.Errorf("%+v, %v", got, err)
		}
	})
}

func TestTheNewPlanOfTheRestIsToldHowFarTheOldOneCame(t *testing.T) {
	virtual(t, func(s *system) {
		v := &voice{says: `{"subjobs":[{"id":"other","goal":"sum:","expert":"worker","dependencies":["first"]}]}`}
		s.model = v
		s.startAll()
		none := 0
		bad := step("bad", "fail:99", "first")
		bad.Retries = &none
		r := boats("j7", step("first", "gen:"), bad, step("last", "sum:", "bad"))
		r.FailurePolicy = events.Replan
		s.Submit(r)
		s.EndedAs("j7", events.Finished)
		if len(v.told) != 1 {
			s.Fatalf("the model was asked %d times", len(v.told))
		}
		contains(t, v.told[0], "Write about boats", "The plan of boats", "1. [✓] first: gen:", "2. [!] bad: fail:99", "3. [ ] last: sum:")
	})
}

// agents returns the prompts, in order, that the steps of a job send to the model of an agent.
func agents(t *testing.T, r events.Request) (asked []string) {
	t.Helper()
	dir := t.TempDir()
	musttest.Write(t, filepath.Join(dir, "agent.md"), "---\nname: Agent\nkind: llm\ntags: [default]\n---\n")
	virtual(t, func(s *system) {
		model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
			return llmtest.Answer{Text: "finding " + strconv.Itoa(q.N)}, nil
		}))
		s.cards, s.doer, s.model = dir, model, &voice{says: "I would rather talk."}
		s.startKnown("agent")
		s.Submit(r)
		s.EndedAs(r.ID, events.Finished)
		for _, q := range model.Asked() {
			asked = append(asked, q.Last("user"))
		}
	})
	return asked
}

// contains fails the test for each wanted text that is missing.
func contains(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// proves D13
// proves F9
// proves O8
// proves O-weakness-7
func TestALaterStepSeesTheRequestThePlanAndTheFindingsBeforeIt(t *testing.T) {
	asked := agents(t, boats("j4", events.SubJob{ID: "look", Goal: "Look.", Expert: "agent"}, events.SubJob{ID: "draw", Goal: "Draw.", Expert: "agent", Dependencies: []string{"look"}}))
	if len(asked) != 2 {
		t.Fatalf("%q", asked)
	}
	contains(t, asked[0], "Look.", "Write about boats", "for children", "1. [→] look: Look. (this step)\n2. [ ] draw: Draw.\n", "This is step 1 of 2.", "Its result goes to: draw")
	contains(t, asked[1], "Draw.", "Write about boats", "for children", "1. [✓] look: Look.\n2. [→] draw: Draw. (this step)\n", "This is step 2 of 2.", "finding 1")
}

// The steps of the default plan do not repeat what the request is about.
// proves O5
func TestEachStepOfTheDefaultPlanIsToldTheRequest(t *testing.T) {
	r := boats("j5")
	r.Plan, r.Profile, r.Finalize = nil, "steps", "tails"
	asked := agents(t, r)
	if len(asked) != 3 {
		t.Fatalf("%q", asked)
	}
	for i, text := range asked {
		contains(t, text, []string{"Analyze request", "Execute task", "Verify results"}[i], "Write about boats", "for children", "Plan for: Write about boats", "This is step "+strconv.Itoa(i+1)+" of 3.")
	}
}

// An expert chosen for the whole request receives it once, as its own goal.
// proves C9
func TestAChosenExpertGetsTheRequestOnceAndTheFactsOfTheJob(t *testing.T) {
	r := boats("j6")
	r.Plan, r.Expert = nil, "agent"
	asked := agents(t, r)
	if len(asked) != 1 || strings.Count(asked[0], "Write about boats") != 1 || strings.Count(asked[0], "for children") != 1 || strings.Contains(asked[0], "one step") {
		t.Fatalf("%q", asked)
	}
	contains(t, asked[0], "job: j6\nuser: ann\nsession: harbour\nthread: pier\nlocale: en-GB")
}
