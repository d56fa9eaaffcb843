package app_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// aWord matches the words that tell a test's agents apart.
var aWord = regexp.MustCompile(`word-\d+`)

// crowd is a model that answers a first question only once it has received all of them. Each agent writes its word into a file with
// the same name as the others', looks around, and reports what it reads there; the one called word-0 waits for half a minute first.
func crowd(size int) *llmtest.Server {
	var asked atomic.Int32
	all := make(chan struct{})
	return llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		word := aWord.FindString(q.Turns[1].Text)
		switch len(q.Turns) {
		case 2:
			if asked.Add(1) == int32(size) {
				close(all)
			}
			select {
			case <-all:
			case <-time.After(time.Minute): // It goes on, too late.
			}
			a := llmtest.Answer{Calls: []llmtest.Call{{Name: "write_file", Args: fmt.Sprintf(`{"path":"word","content":%q}`, word)}, {Name: "list_files", Args: `{}`}}}
			if word == "word-0" {
				a.Delay = 30 * time.Second
			}
			return a, nil
		case 5:
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "read_file", Args: `{"path":"word"}`}}}, nil
		}
		return llmtest.Answer{Text: "it says " + q.Last("tool")}, nil
	}))
}

// heard is the live text of each job, piece by piece.
type heard struct {
	mu     sync.Mutex // Guards pieces.
	pieces map[string][]string
}

// Agents that work in one runner at the same time share nothing: no file, no prompt, and no live text. A model that thinks for long
// holds up no other agent.
// proves C-weakness-9-shared
// proves V-weakness-6-run
// proves F-weakness-d-run
// proves F-weakness-i-run
func TestAgentsAtOnceDoNotMeet(t *testing.T) {
	const size = 8
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, agents(t, card(t, careful)), app.Deps{Doer: crowd(size)})
		live := &heard{pieces: map[string][]string{}}
		works := make([]events.Work, size)
		began := time.Now()
		for i := range works {
			works[i] = work("agent", fmt.Sprint("j", i), "a", 1)
			works[i].Goal = fmt.Sprint("word-", i)
			job := works[i].Job
			stop := musttest.Get(w.Bus.SubscribeCore(w.Names.Live(job, "a"), func(_ string, body []byte) {
				live.mu.Lock()
				defer live.mu.Unlock()
				live.pieces[job] = append(live.pieces[job], string(body))
			}))(w)
			w.Cleanup(stop)
			w.Issue(works[i])
		}
		for i := size - 1; i >= 0; i-- {
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("word-%d waited for %s, until word-0 had been thought about", i+1, took)
			}
			want := musttest.JSON(t, "it says "+works[i].Goal)
			if got := w.Report(works[i]); got.Outcome != events.Success || string(got.Output) != string(want) {
				t.Errorf("%s reports %s %s", works[i].Goal, got.Outcome, got.Output)
			}
		}
		w.Idle()
		synctest.Wait()
		live.mu.Lock()
		defer live.mu.Unlock()
		for i, o := range works {
			told := strings.Join(live.pieces[o.Job], "\n")
			words := map[string]bool{}
			for _, word := range aWord.FindAllString(told, -1) {
				words[word] = true
			}
			if diff := cmp.Diff(map[string]bool{o.Goal: true}, words); diff != "" {
				t.Errorf("what is told of agent %d is about %s", i, diff)
			}
			for _, call := range []string{`"tool/1/0","offset":0,"tool":"write_file"`, `"tool/1/1","offset":0,"tool":"list_files"`, `"tool/2/0","offset":0,"tool":"read_file"`} {
				if strings.Count(told, call) != 1 {
					t.Errorf("of agent %d the call %s is told %d times", i, call, strings.Count(told, call))
				}
			}
		}
	})
}

// Each run has the budget of its card for itself: what another step, or an attempt before it, has used up is not missing.
//
// proves O-weakness-6
func TestEachStepHasABudgetOfItsOwn(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
			usage := &llmtest.Usage{Prompt: 10}
			if len(q.Turns) == 2 {
				return llmtest.Answer{Usage: usage, Text: "I look.", Calls: []llmtest.Call{{Name: "list_files", Args: `{}`}}}, nil
			}
			return llmtest.Answer{Usage: usage, Text: "done"}, nil
		}))
		start(w, agents(t, card(t, "tools: [list_files]\nmax_turns: 2\nmax_tokens: 30\n")), app.Deps{Doer: model})
		for i, o := range []events.Work{work("agent", "j1", "a", 1), work("agent", "j1", "b", 1), work("agent", "j1", "c", 1), work("agent", "j1", "a", 2)} {
			w.Issue(o)
			if got := w.Report(o); got.Outcome != events.Success || string(got.Output) != `"done"` || got.Tokens != 20 {
				t.Errorf("step %d: %+v %+v", i, got, got.Error)
			}
		}
	})
}
